import type { Command } from 'commander';
import type { Access } from '../access.ts';
import { findClaim } from '../db/find-claims.ts';
import { findOrderNo } from '../db/find-order.ts';
import { status } from '../failure.ts';
import { print, printJson } from '../show/print.ts';
import { showNumber } from '../show/show-number.ts';

export function addIntentCommands(program: Command, access: Access): void {
  const intent = program.command('intent').description('Purchase intents, by client_request_id.');
  intent
    .command('show')
    .description('What became of a purchase intent: its order, or the attempt that is at work, and all about it.')
    .argument('<key>', 'the client_request_id')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem intent show 6f1b0a52-0c1e-4a8e-9d0a-3f3c8f7a9b11
  $ ordersystem intent show 6f1b0a52-0c1e-4a8e-9d0a-3f3c8f7a9b11 --json | jq -r .state

CREATED      there is an order
IN_PROGRESS  an attempt is at work
EXPIRED      the claim of an attempt that died: the reaper, or the next request with this key,
             takes it away and gives its stock back
NONE         nothing: the key is free, and a request with it makes an order

Status 1: NONE, or a rule is broken.`,
    )
    .action(async (key: string, options: { json?: true }) => {
      const databases = await access.databases();
      // The claim first: it becomes the order, and an order never becomes a claim.
      const claim = await findClaim(databases.order, 'client_request_id', key);
      const orderNo = await findOrderNo(databases.order, key);
      const number = orderNo ?? claim?.order_no;
      const state = orderNo !== undefined ? 'CREATED' : !claim ? 'NONE' : claim.expired ? 'EXPIRED' : 'IN_PROGRESS';
      if (number !== undefined) {
        if (!options.json) print(`${key} is ${state}`, '');
        const about = { client_request_id: key, state };
        process.exitCode = await showNumber(databases, number, { ...options, about });
        return;
      }
      if (options.json) printJson({ client_request_id: key, state, order_no: null });
      else print(`${key} is NONE: no order and no claim has it`);
      process.exitCode = status.wrong;
    });
}
