import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import fc from 'fast-check';
import { type Case, cases, type Known } from './cases.ts';
import { judge } from './judge.ts';
import type { DoorName } from './victim.ts';

export interface FuzzOptions {
  door: DoorName;
  /** Of each service's door. */
  addresses: Record<'order' | 'stock', string>;
  known: Known;
  seed: number;
  seconds: number;
}

// So many at once meet each other in the service.
const AT_ONCE = 8;

/** Sends requests that are nearly good, until the time is over. Returns how many had which answer; throws at the first that had none. */
export async function fuzz({ door, addresses, known, seed, seconds }: FuzzOptions): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  const sessions: Partial<Record<string, ClientHttp2Session>> = {};
  const send = async (one: Case) => {
    let session = sessions[one.service];
    if (!session || session.destroyed || session.closed) {
      session = sessions[one.service] = connect(`http://${addresses[one.service]}`).on('error', () => undefined);
    }
    const answer = await inTime(judge(session, one));
    answers[answer] = (answers[answer] ?? 0) + 1;
  };
  const all = fc.array(cases(door, known), { minLength: AT_ONCE, maxLength: AT_ONCE });
  try {
    await fc.assert(
      fc.asyncProperty(all, async (some) => void (await Promise.all(some.map(send)))),
      { seed, numRuns: 1_000_000_000, interruptAfterTimeLimit: seconds * 1000 },
    );
  } finally {
    for (const session of Object.values(sessions)) {
      session?.destroy();
      if (session && !session.closed) await once(session, 'close').catch(() => undefined);
    }
  }
  return answers;
}

/** Each call has a deadline of its own, far shorter. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer within 15 s')), 15_000);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}
