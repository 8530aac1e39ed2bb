// Points for orders, in a database of their own: DATABASE_URL=mysql://… EVENTS_URL=nats://… node examples/points/main.ts
import { createPool } from 'mysql2/promise';
import { consumeOrderEvents } from '../../client/order-events.ts';
import { countPoints, createPointsTable } from './points.ts';

const { DATABASE_URL: uri = '', EVENTS_URL: servers = '' } = process.env;
const db = createPool({ uri, supportBigNumbers: true, bigNumberStrings: true });
await createPointsTable(db);
const consumer = consumeOrderEvents({ servers, durable: 'points', db, handle: countPoints });

process.once('SIGTERM', () => {
  void consumer.stop().then(() => db.end());
});
