import assert from 'node:assert/strict';
import { decodeOrderNo, EPOCH_MS, SEQUENCES } from '../../../order-svc/domain/order-no.ts';
import { OrderNumbers, type WorkerGrant } from '../../../order-svc/domain/order-numbers.ts';
import { failsWith } from '../../support/expect.ts';

const START = EPOCH_MS + 1_000_000;

describe('the maker of order numbers', () => {
  let now: number;
  let grant: WorkerGrant | undefined;
  let abandoned: number;
  let numbers: OrderNumbers;

  beforeEach(() => {
    now = START;
    grant = { worker: 3, fromMs: START - 10, untilMs: START + 60_000 };
    abandoned = 0;
    numbers = new OrderNumbers({ current: () => grant, abandon: () => void abandoned++ }, () => now);
  });

  const next = async () => decodeOrderNo(await numbers.next(0x1ffn));

  it('puts time, worker, sequence and gene into a number', async () => {
    assert.deepEqual(await next(), { timeMs: START, worker: 3, sequence: 0, gene: 0xff });
    assert.deepEqual(await next(), { timeMs: START, worker: 3, sequence: 1, gene: 0xff });
    now++;
    assert.deepEqual(await next(), { timeMs: START + 1, worker: 3, sequence: 0, gene: 0xff });
  });

  it('waits for the next millisecond when one is used up', async () => {
    for (let i = 0; i < SEQUENCES; i++) await next();
    const waiting = next();
    now++;
    assert.deepEqual(await waiting, { timeMs: START + 1, worker: 3, sequence: 0, gene: 0xff });
  });

  it('waits for a clock that stepped back a little', async () => {
    await next();
    now -= 20;
    const waiting = next();
    now += 20;
    assert.deepEqual(await waiting, { timeMs: START, worker: 3, sequence: 1, gene: 0xff });
  });

  it('refuses, and asks for another worker id, when the clock stepped back far', async () => {
    await next();
    now -= 600_000;
    await failsWith(next(), 'SERVICE_UNAVAILABLE');
    assert.equal(abandoned, 1);
    grant = { worker: 4, fromMs: now, untilMs: now + 60_000 };
    assert.deepEqual(await next(), { timeMs: START - 600_000, worker: 4, sequence: 0, gene: 0xff });
  });

  it('refuses a time beyond the bound that the lease has written down', async () => {
    now = grant!.untilMs;
    await next();
    now++;
    await failsWith(next(), 'SERVICE_UNAVAILABLE');
    assert.equal(abandoned, 1);
  });

  it('refuses while there is no lease', async () => {
    grant = undefined;
    await failsWith(next(), 'SERVICE_UNAVAILABLE');
  });

  it('goes on after its last number when the same lease is renewed', async () => {
    await next();
    grant = { ...grant!, untilMs: grant!.untilMs + 10_000 };
    assert.equal((await next()).sequence, 1);
  });
});
