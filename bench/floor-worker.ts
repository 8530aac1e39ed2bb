// The job in plain SQL: what the database itself can do, with no service in between. Arguments: the URL of a database with the tables
// of both services in it.
import { createPool } from 'mysql2/promise';
import { fixtures } from './fixtures.ts';
import { serve } from './worker.ts';

const pool = createPool({ uri: process.argv[2]!, connectionLimit: 10 });
let last = 0;

async function createOrder(productId: number): Promise<void> {
  const connection = await pool.getConnection();
  const orderNo = `${process.pid}${Date.now()}${++last}`;
  try {
    await connection.beginTransaction();
    await connection.execute('UPDATE t_stock SET available = available - ? WHERE product_id = ? AND available >= ?', [
      1,
      productId,
      1,
    ]);
    await connection.execute(
      "INSERT INTO t_stock_record (order_no, type, product_id, quantity) VALUES (?, 'DEDUCT', ?, ?)",
      [orderNo, productId, 1],
    );
    await connection.commit();
    await connection.beginTransaction();
    await connection.execute(
      `INSERT INTO t_order (order_no, user_id, client_request_id, fingerprint, status, total_amount)
        VALUES (?, ?, ?, ?, 'WAIT_PAY', ?)`,
      [orderNo, 1, crypto.randomUUID(), Buffer.alloc(32), '2.50'],
    );
    await connection.execute(
      `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents) VALUES (?, 0, ?, ?, ?, ?)`,
      [orderNo, productId, 1, `Product ${productId}`, 250],
    );
    await connection.execute(
      "INSERT INTO t_event_record (event_id, order_no, event_type, payload) VALUES (?, ?, 'ORDER_CREATED', ?)",
      [
        `${orderNo}.ORDER_CREATED`,
        orderNo,
        JSON.stringify({ order_no: orderNo, items: [{ product_id: productId, quantity: 1 }] }),
      ],
    );
    await connection.commit();
  } finally {
    connection.release();
  }
}

serve((job) => (job === 'hot' ? () => createOrder(fixtures.hotProduct) : () => createOrder(fixtures.anyProduct())));
