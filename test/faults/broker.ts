import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { storedEvents, withBroker } from '../support/broker.ts';
import { latency, weather } from './bad-weather.ts';
import type { Case, Kind, Stage } from './kind.ts';
import type { TcpLink } from './tcp-link.ts';
import type { News, World } from './world.ts';

type Links = (world: World) => TcpLink[];

const relays: Links = ({ orders }) => orders.map(({ brokerLink }) => brokerLink!);
const listener: Links = (world) => [newsOf(world).listener.link];
const itsDatabase: Links = (world) => [newsOf(world).listener.databaseLink];

/** What goes wrong with the broker, on the way to it, and on the way from it to somebody who hears of the orders. */
export const brokerFaults: Kind = {
  name: 'broker',
  withBroker: true,
  cases: [
    { name: 'the broker is killed and started again', run: killBroker },
    ...onTheWay('between order-svc and the broker', relays),
    ...[10, 200, 2000].map((delayMs): Case => ({
      name: `${delayMs} ms of latency between order-svc and the broker`,
      run: (stage) => latency(stage, relays(stage.world), delayMs),
    })),
    ...onTheWay('between the broker and its consumer', listener),
    ...onTheWay('between the consumer and its database', itsDatabase),
    { name: 'every event is published a second time', run: publishAgain },
    { name: 'every event is delivered a second time', run: deliverAgain },
  ],
};

function onTheWay(where: string, links: Links): Case[] {
  return [
    {
      name: `answers ${where} are lost`,
      quick: links === relays,
      run: (stage) => weather(stage, links(stage.world), { loseAnswers: true }, { times: 3, forMs: 700 }),
    },
    {
      name: `nothing arrives ${where}, and nobody is told`,
      run: (stage) => weather(stage, links(stage.world), { silent: true }, { times: 1, forMs: 4000 }),
    },
    {
      name: `5 % of what is sent ${where} resets the connection`,
      run: (stage) => weather(stage, links(stage.world), { resets: 0.05 }, { times: 1, forMs: 4000 }),
    },
  ];
}

function newsOf({ news }: World): News {
  if (!news) throw new Error('not a world with a broker');
  return news;
}

async function killBroker({ world, people }: Stage): Promise<number> {
  const { broker } = newsOf(world);
  const load = people.shop(8);
  try {
    for (let i = 0; i < 3; i++) {
      await sleep(500);
      await broker.kill();
      await sleep(1000);
      await broker.startAgain();
    }
  } finally {
    await load.stop();
  }
  return 3;
}

/** Past what the broker knows of its events: they stand in the stream twice. */
async function publishAgain({ world, people }: Stage): Promise<number> {
  const { broker } = newsOf(world);
  let published = 0;
  const load = people.shop(8);
  try {
    for (let i = 0; i < 3; i++) {
      await sleep(1000);
      const events = (await storedEvents(broker.url)).slice(published);
      await withBroker(broker.url, async (connection) => {
        for (const event of events) {
          const attributes = headers();
          for (const [name, value] of Object.entries(event.headers)) {
            if (!name.startsWith('Nats-')) attributes.set(name, value);
          }
          await jetstream(connection).publish(event.subject, event.data, { headers: attributes });
        }
      });
      published += events.length;
    }
  } finally {
    await load.stop();
  }
  return published;
}

async function deliverAgain({ world, people }: Stage): Promise<number> {
  let delivered = 0;
  const load = people.shop(8);
  try {
    for (let i = 0; i < 2; i++) {
      await sleep(1000);
      delivered += await newsOf(world).listener.hearAllAgain();
    }
  } finally {
    await load.stop();
  }
  return delivered;
}
