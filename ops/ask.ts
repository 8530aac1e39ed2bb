import { createInterface } from 'node:readline/promises';
import { Failure, status } from './failure.ts';
import { visible } from './show/table.ts';

/**
 * Says what will be done, and returns when whoever sits at the terminal has said y or yes, or `--yes` was given.
 *
 * @throws Failure, and nothing may be done: he has said anything else, or there is nobody to ask.
 */
export async function ask(plan: readonly string[], question: string, { yes }: { yes?: true }): Promise<void> {
  const { stdin: input, stderr: output } = process;
  for (const line of plan) output.write(`${visible(line)}\n`);
  if (yes) return;
  if (!input.isTTY) throw new Failure(status.cannot, 'nothing was done: there is no terminal to ask at; say --yes');
  const terminal = createInterface({ input, output });
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(status.wrong, 'nothing was done');
}
