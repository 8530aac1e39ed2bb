import assert from 'node:assert/strict';
import { deleteClaimsStatement, insertClaims } from '../../../order-svc/db/claims.ts';
import { openOrderDb, type OrderDb } from '../../../order-svc/db/models.ts';
import { stageRestores } from '../../../order-svc/db/stage-restores.ts';
import { readIntent } from '../../../order-svc/domain/intent.ts';
import { execute } from '../../../runtime/db/statements.ts';
import { inTransaction } from '../../../runtime/db/transaction.ts';
import { databaseUrlOf, newKey, startSystem, type System } from '../../support/system.ts';

// No audit: these claims have no attempt.
describe('a process that ends its claims', () => {
  let system: System;
  let impatient: OrderDb;

  before(async () => {
    system = await startSystem();
    impatient = openOrderDb({ url: databaseUrlOf(system.orderDb), lockWaitSeconds: 1 });
  });
  after(async () => {
    await impatient.sequelize.close();
    await system.stop();
  });
  afterEach(() => system.orderDb.OrderClaim.destroy({ where: {} }));

  const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => String(from + i));
  const claims = (orderNos: string[]) =>
    orderNos.map((orderNo) => {
      const items = [{ productId: 1n, quantity: 1n }];
      return { orderNo, intent: readIntent(1n, { clientRequestId: newKey(), items } as never), leaseMs: 60_000 };
    });

  const ends: Record<string, (orderNos: string[]) => Promise<number>> = {
    'by making orders of them': (orderNos) => {
      const { sql, values } = deleteClaimsStatement(orderNos);
      return execute(impatient.sequelize, sql, values);
    },
    'by staging their restore': (orderNos) => stageRestores(impatient, orderNos),
  };
  for (const [how, end] of Object.entries(ends)) {
    it(`${how}, most of the table, waits for no claim that another has in work`, async () => {
      const [own, others] = [numbers(100, 16), numbers(200, 4)];
      await insertClaims(system.orderDb, claims([...own, ...others]));
      await inTransaction(system.orderDb.sequelize, async (tx) => {
        const { sql, values } = deleteClaimsStatement(others);
        await execute(system.orderDb.sequelize, sql, values, tx);
        assert.equal(await end(own), own.length);
      });
      assert.equal(await system.orderDb.OrderClaim.count(), 0);
    });
  }
});
