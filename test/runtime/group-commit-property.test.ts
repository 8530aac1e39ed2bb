import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lanes } from '../../runtime/group-commit.ts';
import { answerTo, type Job, rejected, Rig, RolledBack, settled } from './group-commit-rig.ts';

const index = fc.nat({ max: 30 });
const end = fc.oneof(
  { weight: 3, arbitrary: fc.record({ how: fc.constant('done' as const), refused: fc.array(fc.nat({ max: 4 })) }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constantFrom('rolled back' as const, 'lost' as const) }) },
);
const command = fc.oneof(
  fc.record({ submit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ abort: index }),
  fc.record({ job: index, end }),
);

/** What a test knows of one input, and what became of it. */
interface Known {
  readonly hangUp: AbortController;
  /** Whether any batch has had it. */
  sent: boolean;
  /** Whether one more batch may have it: it waits, or what had it was rolled back. */
  open: boolean;
  expected: unknown;
  readonly answers: unknown[];
}

/** A GroupCommit under any sequence of commands, held against what each input must be told. */
class Model {
  readonly rig: Rig;
  readonly all = new Map<string, Known>();
  readonly maxSize: number;
  readonly lanes: number;
  readonly #ended = new Set<Job>();
  #looked = 0;
  #lastSent = -1;

  constructor(lanes: number, maxSize: number) {
    this.rig = new Rig({ lanes: new Lanes(lanes), maxSize, spareLanes: 0 });
    [this.lanes, this.maxSize] = [lanes, maxSize];
  }

  get atWork(): Job[] {
    return this.rig.jobs.filter((job) => !this.#ended.has(job));
  }

  async submit(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const name = String(this.all.size);
      const known: Known = { hangUp: new AbortController(), sent: false, open: true, expected: undefined, answers: [] };
      this.all.set(name, known);
      this.rig.commit.submit(name, known.hangUp.signal).then(
        (output) => known.answers.push(output),
        (error: unknown) => known.answers.push(rejected(error)),
      );
    }
    await settled();
    this.look();
  }

  abort(name: string): void {
    const known = this.all.get(name);
    if (!known || known.hangUp.signal.aborted) return;
    known.hangUp.abort(new Error(`${name} is gone`));
    if (!known.sent) Object.assign(known, { open: false, expected: rejected(known.hangUp.signal.reason) });
  }

  async end(job: Job, how: 'done' | 'rolled back' | 'lost', refused: readonly number[] = []): Promise<void> {
    this.#ended.add(job);
    const error = how === 'rolled back' ? new RolledBack() : new Error('lost');
    const outputs = job.inputs.map((name, i) =>
      refused.includes(i) ? new Error(`${name} is refused`) : answerTo(name),
    );
    job.inputs.forEach((name, i) => {
      const known = this.all.get(name)!;
      if (how === 'rolled back' && job.inputs.length > 1) known.open = true;
      else {
        const answer = how === 'done' ? outputs[i] : error;
        known.expected = answer instanceof Error ? rejected(answer) : answer;
      }
    });
    await (how === 'done' ? job.done(outputs) : job.fail(error));
    this.look();
  }

  /** Looks at the batches begun since the last time. */
  look(): void {
    for (const { inputs } of this.rig.jobs.slice(this.#looked)) {
      assert.ok(inputs.length > 0 && inputs.length <= this.maxSize);
      for (const name of inputs) {
        const known = this.all.get(name)!;
        assert.ok(known.open, `${name} is not done again`);
        if (known.sent) assert.equal(inputs.length, 1, `${name} is run again alone`);
        else assert.ok(Number(name) > this.#lastSent, `${name} is in order`);
        if (!known.sent) this.#lastSent = Number(name);
        Object.assign(known, { sent: true, open: false });
      }
    }
    this.#looked = this.rig.jobs.length;
    assert.ok(this.atWork.length <= this.lanes);
    const waiting = [...this.all.values()].some((known) => !known.sent && known.open);
    if (waiting) assert.equal(this.atWork.length, this.lanes, 'no lane rests while somebody waits');
  }
}

describe('GroupCommit', () => {
  const run = fc.tuple(
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 4 }),
    fc.array(command, { maxLength: 40 }),
  );

  it('answers each input once with its own answer, in order, whatever comes, goes and fails', () =>
    fc.assert(
      fc.asyncProperty(run, async ([lanes, maxSize, commands]) => {
        const model = new Model(lanes, maxSize);
        for (const one of commands) {
          if ('submit' in one) await model.submit(one.submit);
          else if ('abort' in one) model.abort(String(one.abort));
          else {
            const job = model.atWork[one.job % Math.max(model.atWork.length, 1)];
            if (job) await model.end(job, one.end.how, 'refused' in one.end ? one.end.refused : []);
          }
        }
        for (let job = model.atWork[0]; job; job = model.atWork[0]) await model.end(job, 'done');
        for (const [name, { expected, answers }] of model.all) assert.deepEqual([name, ...answers], [name, expected]);
      }),
      { numRuns: 300 },
    ));
});
