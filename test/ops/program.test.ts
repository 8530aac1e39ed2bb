import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { Access } from '../../ops/access.ts';
import { createProgram } from '../../ops/program.ts';
import { root, run, runOps } from './run-ops.ts';

/** Every command that does something: its words. */
function leaves(command: Command, words: readonly string[] = []): string[][] {
  if (command.commands.length === 0) return [[...words]];
  return command.commands.flatMap((child) => leaves(child, [...words, child.name()]));
}

const commands = leaves(createProgram(new Access({})));

/** What it prints, and the status that commander ends it with. */
async function parse(words: readonly string[]): Promise<{ out: string; err: string; exitCode: number }> {
  const program = createProgram(new Access({}));
  const printed = { out: '', err: '' };
  const collect = (command: Command): void => {
    command.configureOutput({
      writeOut: (text) => (printed.out += text),
      writeErr: (text) => (printed.err += text),
    });
    command.commands.forEach(collect);
  };
  collect(program);
  const error: unknown = await program.parseAsync(words, { from: 'user' }).catch((caught: unknown) => caught);
  assert.ok(error instanceof CommanderError, String(error));
  return { ...printed, exitCode: error.exitCode };
}

describe('the command line of ordersystem', function () {
  this.timeout(60_000);

  it('has these commands', () => {
    assert.deepEqual(
      commands.map((words) => words.join(' ')),
      [
        'audit',
        'order show',
        'intent show',
        'stock show',
        'stock receive',
        'claims list',
        'outbox list',
        'outbox show',
        'outbox requeue',
        'outbox park',
      ],
    );
  });

  for (const words of [[], ...commands]) {
    it(`explains ${['ordersystem', ...words].join(' ')} with examples, variables and statuses`, async () => {
      const { out: text, exitCode } = await parse([...words, '--help']);
      assert.equal(exitCode, 0);
      for (const part of [
        new RegExp(`^Usage: ${['ordersystem', ...words].join(' ')}`),
        new RegExp(`^ {2}\\$ ordersystem ${words.join(' ')}`, 'm'),
        /^Environment:\n {2}ORDER_DATABASE_URL /m,
        /^Exit status:\n {2}0 .*\n {2}1 .*\n {2}2 /m,
        words.length === 0 ? /^Commands:/m : /^ {2}--json /m,
      ])
        assert.match(text, part);
      assert.deepEqual(
        text.split('\n').filter((line) => line.length > 100),
        [],
        'lines that a terminal would break',
      );
    });
  }

  it('takes no wrong command line, and says on standard error what is wrong', async () => {
    for (const [args, why] of [
      [[], /^Usage: ordersystem/],
      [['outbox'], /^Usage: ordersystem outbox/],
      [['outbox', 'lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
      [['order', 'show'], /missing required argument 'order_no'/],
      [['outbox', 'requeue'], /name events, or say --all-dead/],
      [['outbox', 'requeue', 'x', '--all-dead'], /name events, or say --all-dead/],
      [['outbox', 'list', '--dead', '--status', 'WAIT'], /cannot be used with option/],
      [['outbox', 'list', '--status', 'GONE'], /Allowed choices are WAIT, DEAD, PARKED, SENT/],
      [['outbox', 'list', '--limit', '0'], /must be a whole number from 1 to 100000/],
      [['audit', '--since', 'yesterday'], /must be a time such as/],
      [['audit', '--retention', '7'], /must be a duration such as/],
      [['stock', 'receive', 'GR-1', '1'], /must be product_id=pieces/],
      [['stock', 'show', '0'], /A product_id is a whole number/],
    ] as const) {
      const { out, err, exitCode } = await parse(args);
      assert.notEqual(exitCode, 0, args.join(' '));
      assert.equal(out, '');
      assert.match(err, why);
    }
  });

  it('ends with status 2 after a wrong command line', async () => {
    const { status, stdout, stderr } = await runOps(['outbox', 'lst']);
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, /unknown command/);
  });

  it('is silent when nobody reads on', async () => {
    const { status, stdout, stderr } = await run('/bin/sh', [
      '-c',
      `'${process.execPath}' ops/main.ts --help | head -n 1`,
    ]);
    assert.deepEqual([status, stdout, stderr], [0, 'Usage: ordersystem [options] [command]\n', '']);
  });

  it('works from a Node that is too old for the code, with the statuses of its own', function () {
    const old = (process.env['PATH'] ?? '')
      .split(delimiter)
      .map((folder) => join(folder, 'node'))
      .find((node) => existsSync(node) && majorOf(node) < 24);
    if (old === undefined) this.skip();
    const ordersystem = (...args: string[]) =>
      spawnSync(old, ['ops/ordersystem.js', ...args], { cwd: root, env: {}, encoding: 'utf8' });
    const help = ordersystem('--help');
    assert.deepEqual([help.status, help.stderr], [0, '']);
    assert.match(help.stdout, /^Usage: ordersystem/);
    const wrong = ordersystem('claims', 'list');
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /ORDER_DATABASE_URL: is required/);
  });

  it('works from this Node as well', () => {
    const { status, stdout } = spawnSync(process.execPath, ['ops/ordersystem.js', '--help'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 0);
    assert.match(stdout, /^Usage: ordersystem/);
  });
});

function majorOf(node: string): number {
  return Number.parseInt(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.slice(1), 10);
}
