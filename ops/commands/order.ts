import type { Command } from 'commander';
import type { Access } from '../access.ts';
import { showNumber } from '../show/show-number.ts';

export function addOrderCommands(program: Command, access: Access): void {
  const order = program.command('order').description('Orders, by order number.');
  order
    .command('show')
    .description('Everything that both databases know of an order number, and which rule it breaks.')
    .argument('<order_no>', 'the order number; that of an attempt which became no order will do')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem order show 109823745098240042
  $ ordersystem order show 109823745098240042 --json | jq .deduction.state

Status 1: there is no trace of the number, or it breaks a rule.`,
    )
    .action(async (orderNo: string, options: { json?: true }) => {
      process.exitCode = await showNumber(await access.databases(), orderNo, options);
    });
}
