import { setTimeout as sleep } from 'node:timers/promises';
import { select } from '../../runtime/db/statements.ts';
import { happened, latency, until, weather } from './bad-weather.ts';
import type { Case, Kind, Stage } from './kind.ts';
import type { TcpLink, Weather } from './tcp-link.ts';
import { sentTwice } from './twice.ts';
import type { World } from './world.ts';

type Links = (world: World) => TcpLink[];

const callers: Links = ({ orders }) => orders.map(({ link }) => link);
const services: Links = ({ stocks }) => stocks.map(({ link }) => link);
const databases: Links = ({ orders, stocks }) => [...orders, ...stocks].map(({ databaseLink }) => databaseLink);

const parties: readonly (readonly [string, Links])[] = [
  ['callers and order-svc', callers],
  ['order-svc and stock-svc', services],
  ['services and database', databases],
];

/** Where a connection is cut, in bytes since it began: from the client, then from the server. */
type Cuts = Record<string, { bytes?: readonly number[]; answerBytes?: readonly number[] }>;

// The client sends the preface (24), SETTINGS (to 39), their acknowledgement (to 48), HEADERS (9 and about 160, to about 215), DATA
// (9 and about 25). The server sends SETTINGS (9), their acknowledgement (to 18), HEADERS, DATA, and trailers.
const http2Cuts: Cuts = {
  preface: { bytes: [1, 12, 23] },
  settings: { bytes: [25, 30, 44], answerBytes: [4, 13] },
  headers: { bytes: [50, 60, 130], answerBytes: [20, 40] },
  data: { bytes: [218, 235, 1000], answerBytes: [80, 150, 1000] },
};
// The client sends its handshake (about 160), three SET statements (to about 325), and its work, each packet with 4 bytes of header. The
// server sends its greeting (79), 6 bytes of authentication, and OK packets (to about 170).
const mysqlCuts: Cuts = {
  handshake: { bytes: [2, 80], answerBytes: [2, 40, 82] },
  // One of each eight in a row is in the header of the packet that follows the handshake.
  'packet header': { bytes: [157, 159, 161, 163, 165], answerBytes: [86, 88] },
  'packet body': { bytes: [175, 400, 1500], answerBytes: [100, 300, 1500] },
};

/** What goes wrong on the way between any two parties. */
export const networkFaults: Kind = {
  name: 'network',
  cases: [
    ...parties.flatMap(([between, links]): Case[] => [
      {
        name: `answers between ${between} are lost`,
        quick: links === services,
        run: (stage) => weather(stage, links(stage.world), { loseAnswers: true }, { times: 3, forMs: 700 }),
      },
      {
        name: `nothing arrives between ${between}, and nobody is told`,
        run: (stage) => weather(stage, links(stage.world), { silent: true }, { times: 1, forMs: 4000 }),
      },
      {
        name: `1 % of what is sent between ${between} resets the connection`,
        run: (stage) => weather(stage, links(stage.world), { resets: 0.01 }, { times: 1, forMs: 4000 }),
      },
      ...[10, 200, 5000].map((delayMs): Case => ({
        name: `${delayMs} ms of latency between ${between}`,
        run: (stage) => latency(stage, links(stage.world), delayMs),
      })),
    ]),
    { name: 'a deduction arrives after its restore', run: arriveAfterRestore },
    ...sentTwice,
    ...cutCases('callers and order-svc', callers, http2Cuts),
    ...cutCases('order-svc and stock-svc', services, http2Cuts),
    ...cutCases('services and database', databases, mysqlCuts),
  ],
};

function cutCases(between: string, links: Links, cuts: Cuts): Case[] {
  return Object.entries(cuts).map(([where, { bytes = [], answerBytes = [] }]) => ({
    name: `connections between ${between} are cut in the ${where}`,
    run: async (stage) => {
      const weathers: Weather[] = [
        ...bytes.map((cutAfterBytes) => ({ cutAfterBytes })),
        ...answerBytes.map((cutAfterAnswerBytes) => ({ cutAfterAnswerBytes })),
      ];
      return cutEach(stage, links(stage.world), weathers);
    },
  }));
}

/** On each link, new connections are cut at each place until one has come to it. */
async function cutEach({ people }: Stage, links: TcpLink[], weathers: Weather[]): Promise<number> {
  let faults = 0;
  const load = people.shop(8);
  try {
    for (const bad of weathers) {
      for (const link of links) {
        const before = link.hits;
        link.turn(bad);
        link.cut();
        await until(() => link.hits > before, `nothing was cut at ${JSON.stringify(bad)}`);
        link.turn();
        faults++;
      }
    }
  } finally {
    for (const link of links) link.turn();
    await load.stop();
  }
  return faults;
}

/** What goes to one stock-svc arrives seconds late, when the order was compensated through the other one long ago. */
async function arriveAfterRestore({ world, people }: Stage): Promise<number> {
  const late = world.stocks[0]!.link;
  const before = await tombstones(world);
  const load = people.shop(8);
  try {
    for (let i = 0; i < 3; i++) {
      late.turn({ delayMs: 2500 });
      // The other one answers nobody for as long as a deduction is tried, and is there for the restore.
      world.stocks[1]!.link.turn({ down: true });
      await sleep(1000);
      world.stocks[1]!.link.turn();
      await sleep(2000);
      late.turn();
      await sleep(500);
    }
  } finally {
    late.turn();
    world.stocks[1]!.link.turn();
    await load.stop();
  }
  return happened((await tombstones(world)) - before);
}

/** Restores that came before what they restore. */
async function tombstones({ stockDb }: World): Promise<number> {
  const sql = 'SELECT COUNT(*) AS found FROM t_stock_deduction WHERE fingerprint IS NULL';
  const [row] = await select<{ found: string }>(stockDb.sequelize, sql, []);
  return Number(row!.found);
}
