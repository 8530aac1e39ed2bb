import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { as, availableOf, newKey, product, useSystem } from '../support/system.ts';
import { opsEnv, runOps, runOpsAtTerminal } from './run-ops.ts';

describe('a command that changes something', function () {
  this.timeout(60_000);
  const system = useSystem();
  let tea: bigint;
  let eventId: string;
  const statusOf = async () =>
    (await system.orderDb.EventRecord.findOne({ where: { event_id: eventId }, raw: true, rejectOnEmpty: true })).status;

  before(async () => {
    const node = await system.orderNode();
    tea = await product(system, 10n);
    const items = [{ productId: tea, quantity: 1n }];
    const { order } = await node.client.createOrder({ clientRequestId: newKey(), items }, as(1));
    eventId = `${order!.orderNo}.ORDER_CREATED`;
  });
  beforeEach(() =>
    system.orderDb.EventRecord.update({ status: 'DEAD', lease_time: null, lease_owner: null }, { where: {} }),
  );

  it('refuses where there is no terminal to ask at, and does nothing', async () => {
    const all = [
      ['outbox', 'requeue', eventId],
      ['outbox', 'requeue', '--all-dead'],
      ['outbox', 'park', eventId],
      ['audit', '--repair'],
      ['stock', 'receive', 'GR-1', `${tea}=5`],
    ];
    for (const args of all) {
      const { status, stderr } = await runOps(args, opsEnv(system));
      assert.equal(status, 2, args.join(' '));
      assert.match(stderr, /\nordersystem: nothing was done: there is no terminal to ask at; say --yes\n$/);
    }
    assert.equal(await statusOf(), 'DEAD');
    assert.equal(await availableOf(system, tea), 9n);
  });

  describe('at a terminal', () => {
    before(function () {
      try {
        execFileSync('script', ['--version'], { stdio: 'ignore' });
      } catch {
        // Only that of util-linux takes a command's status and input like this.
        this.skip();
      }
    });
    const park = (typed: string) => runOpsAtTerminal(['outbox', 'park', eventId], opsEnv(system), typed);

    for (const yes of ['y', 'YES']) {
      it(`says what it will do, asks, and does it after "${yes}"`, async () => {
        const { status, stdout } = await park(`${yes}\n`);
        assert.equal(status, 0, stdout);
        assert.match(stdout, new RegExp(`^${eventId} is DEAD, will be put aside\r\n.*Do it\\? \\[y/N\\] `));
        assert.match(stdout, /parked: /);
        assert.equal(await statusOf(), 'PARKED');
      });
    }

    for (const [what, typed] of [
      ['a mere return', '\n'],
      ['anything else', 'maybe\n'],
      ['Ctrl-D', '\x04'],
    ] as const) {
      it(`does nothing after ${what}`, async () => {
        const { status, stdout } = await park(typed);
        assert.equal(status, 1, stdout);
        assert.match(stdout, /ordersystem: nothing was done\r\n$/);
        assert.equal(await statusOf(), 'DEAD');
      });
    }
  });
});
