import assert from 'node:assert/strict';
import type { OrderDb } from '../../../order-svc/db/models.ts';
import { duplicateKey } from '../../../runtime/db/sql-errors.ts';
import { startSystem, type System } from '../../support/system.ts';

// The database's own word on what is the same key. No audit: these orders have no stock.
describe('uk_client_request_id', () => {
  let system: System;
  let db: OrderDb;
  let last = 0;

  before(async () => {
    system = await startSystem();
    db = system.orderDb;
  });
  after(() => system.stop());

  const insert = (key: string | null) =>
    db.Order.create({
      order_no: String(++last),
      user_id: '1',
      client_request_id: key === null ? null : Buffer.from(key),
      fingerprint: Buffer.alloc(32),
      status: 'WAIT_PAY',
      total_amount: '0.00',
    });

  it('tells keys apart that differ only in case, accent or trailing space', async () => {
    for (const key of ['key', 'KEY', 'Key', 'kéy', 'key ', ' key', 'key\0', 'ｋey']) await insert(key);
    assert.equal(await db.Order.count(), 8);
  });

  it('refuses the same bytes, and the error names the key however the value looks', async () => {
    for (const key of ['a-b-c', "for key 'PRIMARY'", '01234567-89ab-cdef-0123-456789abcdef']) {
      await insert(key);
      const error = await insert(key).then(
        () => assert.fail('inserted twice'),
        (caught: unknown) => caught,
      );
      assert.equal(duplicateKey(error), 'uk_client_request_id');
    }
  });

  it('lets any number of orders have none', async () => {
    for (let i = 0; i < 5; i++) await insert(null);
    assert.equal(await db.Order.count({ where: { client_request_id: null } }), 5);
  });
});
