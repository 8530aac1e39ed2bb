import { setTimeout as sleep } from 'node:timers/promises';
import { select } from '../../runtime/db/statements.ts';
import type { Case, Kind, Stage } from './kind.ts';

const MINUTE_MS = 60_000;

/** Clocks that are wrong, or are set. Leases and expiry go by the database's; order numbers by the service's own. */
export const clocks: Kind = {
  name: 'clocks',
  cases: [
    stepped('back', -10 * MINUTE_MS),
    stepped('forward', 10 * MINUTE_MS),
    {
      name: 'two order-svc are an hour apart',
      run: (stage) => apart(stage, 60 * MINUTE_MS),
    },
    {
      name: "order-svc's worker id is taken from it while it works",
      quick: true,
      run: loseWorkerLease,
    },
  ],
};

function stepped(way: string, stepMs: number): Case {
  return {
    name: `the clock of an order-svc is set ${way} by ten minutes, and again`,
    async run({ world, people }: Stage) {
      const [victim] = world.orders;
      await victim!.restart({ clock: { shiftMs: 0, stepMs } });
      const load = people.shop(8);
      for (let i = 0; i < 2; i++) {
        await sleep(1500);
        victim!.process.signal('USR2');
      }
      await sleep(3000);
      await load.stop();
      await victim!.restart();
      return 2;
    },
  };
}

async function apart({ world, people }: Stage, shiftMs: number): Promise<number> {
  const [ahead] = world.orders;
  await ahead!.restart({ clock: { shiftMs, stepMs: 0 } });
  const load = people.shop(8);
  await sleep(3000);
  // The right time comes after the wrong one: no number of the hour ahead may be made again.
  await ahead!.restart();
  await sleep(3000);
  await load.stop();
  return 1;
}

/** As if it had not renewed in time, and others had taken all that it held. */
async function loseWorkerLease({ world, people }: Stage): Promise<number> {
  const load = people.shop(8);
  let faults = 0;
  for (let i = 0; i < 5; i++) {
    await sleep(500);
    const { sequelize } = world.orderDb;
    const held = await select(sequelize, 'SELECT worker_id FROM t_worker_lease WHERE holder IS NOT NULL', []);
    await sequelize.query("UPDATE t_worker_lease SET holder = 'somebody else', last_time_ms = last_time_ms + 60000");
    faults += held.length;
  }
  await sleep(4000);
  await load.stop();
  return faults;
}
