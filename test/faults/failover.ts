import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../../runtime/db/statements.ts';
import type { Kind, Stage } from './kind.ts';
import { expectReadOnly } from './kept-server.ts';
import { ServerPair, serverPairOf } from './server-pair.ts';

/** A copy takes over from the database. Each case begins where the one before it has ended. */
export const failover: Kind = {
  name: 'failover',
  startServer: (log) => ServerPair.open(log),
  cases: [
    { name: 'the database is handed over to a copy', run: underLoad(handOver) },
    { name: 'it is handed over, and connections to the old one stay', run: underLoad(handOverKeeping) },
    { name: 'the database is killed, and a copy takes over', run: underLoad(takeOver) },
  ],
};

function underLoad(fault: (stage: Stage, pair: ServerPair) => Promise<void>) {
  return async (stage: Stage): Promise<number> => {
    const load = stage.people.shop(8);
    try {
      await sleep(1000);
      await fault(stage, serverPairOf(stage.world));
      await sleep(1000);
    } finally {
      await load.stop();
    }
    return 1;
  };
}

/** The address leads to the copy before the copy takes writes, as it does when a name is changed first. */
async function handOver({ world }: Stage, pair: ServerPair): Promise<void> {
  await pair.freeze();
  await sleep(500);
  pair.swap();
  pair.link.cut();
  await expectReadOnly(world);
  await sleep(3000);
  await pair.promote();
  await pair.follow();
}

/** Whoever has a connection to the old one can still read there, and would write nothing ever again. */
async function handOverKeeping({ world }: Stage, pair: ServerPair): Promise<void> {
  await pair.freeze();
  pair.swap();
  await expectReadOnly(world);
  // The test's own only read, and so would not notice.
  for (const { sequelize } of [world.orderDb, world.stockDb]) {
    await execute(sequelize, 'CREATE TABLE notice (id INT)', []).catch(() => undefined);
  }
  await pair.promote();
  await sleep(3000);
  await pair.follow();
}

/** What nobody was answered may be lost with it, and what was answered may not. */
async function takeOver({ world }: Stage, pair: ServerPair): Promise<void> {
  await pair.primary.signal('SIGKILL');
  await pair.finish();
  pair.swap();
  await expectReadOnly(world);
  await sleep(1000);
  await pair.promote();
}
