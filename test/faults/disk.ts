import { setTimeout as sleep } from 'node:timers/promises';
import { until } from './bad-weather.ts';
import { KeptServer, keptServerOf } from './kept-server.ts';
import type { Kind, Stage } from './kind.ts';
import { SmallDisk } from './small-disk.ts';

let disk: SmallDisk;

/** The database's disk is full. */
export const diskFaults: Kind = {
  name: 'disk',
  startServer: async (log) => KeptServer.open(log, (disk = await SmallDisk.mount())),
  cases: [
    { name: 'the disk of the database is full, and has room again', quick: true, run: fillDisk },
    {
      name: 'the disk of the database and its binlog is full, and the server is killed when it has room',
      run: fillBinlog,
    },
  ],
};

/** Again and again: what is refused depends on which file has to grow. */
async function fillDisk({ people }: Stage): Promise<number> {
  const before = people.unavailable;
  const load = people.shop(8);
  try {
    for (let i = 0; i < 2; i++) {
      await sleep(500);
      const refused = people.unavailable;
      await disk.fill();
      await until(() => people.unavailable - refused >= 10, 'nobody was refused');
      await sleep(2000);
      await disk.free();
    }
  } finally {
    await disk.free();
    await load.stop();
  }
  return people.unavailable - before;
}

/** A server with a binlog stands still then, and looks only once a minute whether there is room again: it is not waited for. */
async function fillBinlog({ world, people }: Stage): Promise<number> {
  const server = keptServerOf(world);
  const before = people.unavailable;
  const load = people.shop(8);
  try {
    await server.signal('SIGTERM');
    await server.start('full');
    await sleep(1000);
    const refused = people.unavailable;
    await disk.fill();
    await until(() => people.unavailable - refused >= 10, 'nobody was refused');
    await sleep(2000);
    await disk.free();
    await server.signal('SIGKILL');
    await server.start();
    await sleep(1000);
  } finally {
    await disk.free();
    await load.stop();
  }
  return people.unavailable - before;
}
