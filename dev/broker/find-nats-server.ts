import { findProgram, NotHereError } from '../database/server-program.ts';
import { commandIn, type DebianProgram, unpack } from '../debian/unpack.ts';

const nats: DebianProgram = {
  tree: 'nats-debian',
  package: 'nats-server',
  program: 'usr/sbin/nats-server',
  what: 'the NATS server from Debian (10 MB, once)',
};

/**
 * The words that run a NATS server: the one on the `PATH`, else one unpacked from Debian's packages into the cache folder (nothing is
 * installed).
 *
 * @throws NotHereError when there is neither; the message says why.
 */
export async function findNatsServer(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<string[]> {
  try {
    return [await findProgram('nats-server', env)];
  } catch (error) {
    if (!(error instanceof NotHereError)) throw error;
  }
  try {
    return await commandIn(await unpack(nats, env, log), nats);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new NotHereError(`no nats-server on the PATH, and none from Debian: ${why}`, { cause: error });
  }
}
