import assert from 'node:assert/strict';
import { stepChannel, type StepEvent, stepsOf } from '../../runtime/steps.ts';

describe('a step', () => {
  const step = stepsOf(['pour', 'drink']);
  let passed: string[];
  const subscriber = (event: unknown) => {
    const { step: name, at } = event as StepEvent;
    passed.push(`${name} ${at}`);
  };

  beforeEach(() => {
    passed = [];
    stepChannel.subscribe(subscriber);
  });
  afterEach(() => void stepChannel.unsubscribe(subscriber));

  it('is published before it begins and after it is done, and answers what its work does', async () => {
    const answer = await step('pour', async () => {
      assert.deepEqual(passed, ['pour start']);
      return 'tea';
    });
    assert.equal(answer, 'tea');
    assert.deepEqual(passed, ['pour start', 'pour end']);
  });

  it('has no end when it fails', async () => {
    await assert.rejects(
      step('drink', () => Promise.reject(new Error('empty'))),
      /empty/,
    );
    assert.deepEqual(passed, ['drink start']);
  });

  it('costs nothing but a look when nobody subscribes', async () => {
    stepChannel.unsubscribe(subscriber);
    assert.equal(await step('pour', async () => 'tea'), 'tea');
    assert.deepEqual(passed, []);
  });
});
