// A process of its own that makes order numbers: DATABASE_URL, and how many, for users 1, 2, 3 …
import { openOrderDb } from '../../order-svc/db/models.ts';
import { DatabaseWorkerLease } from '../../order-svc/db/worker-lease.ts';
import { OrderNumbers } from '../../order-svc/domain/order-numbers.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';

const [url, count] = process.argv.slice(2);
const db = openOrderDb({ url: url! });
const lease = await new DatabaseWorkerLease(db, { leaseMs: 30_000, logger: silentLogger }).start();
const numbers = new OrderNumbers(lease);
const lines: string[] = [];
for (let userId = 1n; userId <= BigInt(count!); userId++) lines.push(`${userId} ${await numbers.next(userId)}`);
process.stdout.write(lines.join('\n'));
await lease.release(numbers.lastMs);
await db.sequelize.close();
