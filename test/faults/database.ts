import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection, type Connection } from 'mysql2/promise';
import type { Case, Kind, Stage } from './kind.ts';
import { expectReadOnly, KeptServer, keptServerOf } from './kept-server.ts';

/** What goes wrong with the database, on a server that keeps what it has committed. */
export const databaseFaults: Kind = {
  name: 'database',
  startServer: (log) => KeptServer.open(log),
  cases: [
    underLoad('the database is killed and started again', endAndStart('SIGKILL')),
    underLoad('the database is stopped and started again', endAndStart('SIGTERM')),
    underLoad('the database stands still', standStill),
    underLoad('the database is read-only', readOnly, { quick: true }),
    underLoad('max_connections is reached', tooManyConnections),
    underLoad('an operator kills every session, again and again', killAgainAndAgain, { quick: true }),
    underLoad('the rows of t_stock are locked for longer than anybody waits', holdLocks('stockDb', 't_stock')),
    underLoad('the claims are locked for longer than anybody waits', holdLocks('orderDb', 't_order_claim')),
    underLoad('the orders are locked for longer than anybody waits', holdLocks('orderDb', 't_order')),
    underLoad('the events are locked for longer than anybody waits', holdLocks('orderDb', 't_event_record')),
    underLoad('deadlocks, with the services as victims', provokeDeadlocks),
    underLoad('connections are cut at random moments, COMMIT among them', cutAtRandom),
  ],
};

type Fault = (server: KeptServer, stage: Stage) => Promise<number>;

function underLoad(name: string, fault: Fault, { quick = false } = {}): Case {
  return {
    name,
    quick,
    run: async (stage) => {
      const load = stage.people.shop(8);
      try {
        await sleep(500);
        const faults = await fault(keptServerOf(stage.world), stage);
        if (faults === 0) throw new Error('the fault did not happen');
        return faults;
      } finally {
        await load.stop();
      }
    },
  };
}

function endAndStart(signal: 'SIGKILL' | 'SIGTERM'): Fault {
  return async (server) => {
    for (let i = 0; i < 3; i++) {
      await server.signal(signal);
      await server.start();
      await sleep(1500);
    }
    return 3;
  };
}

/** For longer than every lease and every deadline. */
async function standStill(server: KeptServer): Promise<number> {
  await server.signal('SIGSTOP');
  await sleep(5000);
  await server.signal('SIGCONT');
  return 1;
}

/** For longer than a worker id is leased. */
async function readOnly(server: KeptServer, { world }: Stage): Promise<number> {
  await server.ask('SET GLOBAL read_only = 1');
  try {
    await expectReadOnly(world);
    await sleep(4000);
  } finally {
    await server.ask('SET GLOBAL read_only = 0');
  }
  return 1;
}

async function tooManyConnections(server: KeptServer): Promise<number> {
  const refused = async () =>
    Number((await server.ask("SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'"))[0]!['Value']);
  const before = await refused();
  await server.ask('SET GLOBAL max_connections = 6');
  try {
    for (let i = 0; i < 4; i++) {
      await server.killSessions();
      await sleep(1000);
    }
  } finally {
    await server.ask('SET GLOBAL max_connections = 500');
  }
  return (await refused()) - before;
}

async function killAgainAndAgain(server: KeptServer, { random }: Stage): Promise<number> {
  let killed = 0;
  for (let i = 0; i < 20; i++) {
    killed += await server.killSessions();
    await sleep(50 + random() * 200);
  }
  return killed;
}

/** Somebody else's transaction holds all rows of a table, and the gaps between them. */
function holdLocks(db: 'orderDb' | 'stockDb', table: string): Fault {
  return async (server, { world }) => {
    const before = await counterOf(server, 'lock_timeouts');
    const holder = await createConnection(`${server.adminUrl}/${world[db].sequelize.getDatabaseName()}`);
    try {
      for (let i = 0; i < 2; i++) {
        await holder.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
        await holder.query('START TRANSACTION');
        await holder.query(`SELECT * FROM ${table} FOR UPDATE`);
        await sleep(3500);
        await holder.query('ROLLBACK');
        await sleep(200);
      }
    } finally {
      holder.destroy();
    }
    return (await counterOf(server, 'lock_timeouts')) - before;
  };
}

/** Somebody else locks products in the other order, and has changed so much that the server picks the services as victims. */
async function provokeDeadlocks(server: KeptServer, { world }: Stage): Promise<number> {
  const before = await counterOf(server, 'lock_deadlocks');
  const rival = await createConnection(`${server.adminUrl}/${world.stockDb.sequelize.getDatabaseName()}`);
  await rival.query('CREATE TABLE side (id INT PRIMARY KEY)');
  try {
    for (const end = performance.now() + 5000; performance.now() < end;) await lockBackwards(rival);
  } finally {
    await rival.query('DROP TABLE side').finally(() => rival.destroy());
  }
  return (await counterOf(server, 'lock_deadlocks')) - before;
}

async function lockBackwards(rival: Connection): Promise<void> {
  await rival.query('START TRANSACTION');
  const rows = Array.from({ length: 1000 }, (_, i) => `(${i})`).join();
  try {
    await rival.query(`INSERT INTO side VALUES ${rows}`);
    for (let product = 8; product > 0; product--) {
      await rival.query(`SELECT * FROM t_stock WHERE product_id = ${product} FOR UPDATE`);
      await sleep(15);
    }
  } catch (error) {
    if ((error as { errno?: number }).errno !== 1213) throw error;
  }
  await rival.query('ROLLBACK');
}

async function cutAtRandom(_server: KeptServer, { world, random }: Stage): Promise<number> {
  const links = [...world.orders, ...world.stocks].map(({ databaseLink }) => databaseLink);
  const cuts = 150;
  let hit = 0;
  for (let i = 0; i < cuts; i++) {
    hit += links[Math.floor(random() * links.length)]!.cut();
    await sleep(10 + random() * 80);
  }
  return hit;
}

/** One of InnoDB's own counters. */
async function counterOf(server: KeptServer, name: 'lock_timeouts' | 'lock_deadlocks'): Promise<number> {
  const [row] = await server.ask(`SELECT count AS value FROM information_schema.innodb_metrics WHERE name = '${name}'`);
  return Number(row!['value']);
}
