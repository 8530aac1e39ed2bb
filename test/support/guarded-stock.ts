import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { loadStockConfig } from '../../stock-svc/config.ts';
import { startStockService } from '../../stock-svc/service.ts';
import { pemPath } from './certificates.ts';
import { AUDIENCE, ISSUER } from './issuer.ts';
import { databaseUrlOf, type System } from './system.ts';

/** What signs the tokens that it takes, by HS256. */
export const SECRET = 'a secret of two and thirty bytes';

/** Starts one more stock-svc, which has to know its callers: by the certificate of order-svc, or by a token. */
export async function startGuardedStock({
  stockDb,
}: System): Promise<{ target: string; stop: () => Promise<unknown> }> {
  const service = await startStockService(
    loadStockConfig({
      DATABASE_URL: databaseUrlOf(stockDb),
      LISTEN_ADDRESS: '127.0.0.1:0',
      TLS_CERT_FILE: pemPath('server.pem'),
      TLS_KEY_FILE: pemPath('server.key'),
      TLS_CLIENT_CA_FILE: pemPath('ca.pem'),
      TLS_CLIENT_NAMES: 'order-svc',
      JWT_SECRET: SECRET,
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: AUDIENCE,
    }),
    silentLogger,
  );
  return { target: service.address.replace('127.0.0.1', 'localhost'), stop: () => service.stop() };
}
