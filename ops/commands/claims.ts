import type { Command } from 'commander';
import type { Access } from '../access.ts';
import { findClaims } from '../db/find-claims.ts';
import { status } from '../failure.ts';
import { moment, print, printJson } from '../show/print.ts';
import { table } from '../show/table.ts';
import { limitOption } from './options.ts';

export function addClaimsCommands(program: Command, access: Access): void {
  const claims = program.command('claims').description('Claims: orders in the making.');
  claims
    .command('list')
    .description(
      'Attempts that are at work, or whose process died: the claims, those that expire first before the others.',
    )
    .addOption(limitOption(100))
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem claims list
  $ ordersystem claims list --json | jq '.claims[] | select(.expired)'

A claim stands for seconds. One that is expired is taken away by the reaper of any order-svc
within REAPER_INTERVAL_MS: when it stays, no order-svc is running, or its log says \`pass failed\`
of the reaper.`,
    )
    .action(async ({ limit, json }: { limit: number; json?: true }) => {
      const found = await findClaims(await access.orderDatabase(), limit);
      if (json) printJson({ claims: found });
      else if (found.length === 0) print('no claims');
      else {
        const rows = found.map((claim) => [
          claim.order_no,
          claim.user_id,
          moment(claim.expire_time),
          claim.expired ? 'expired' : '',
          claim.client_request_id ?? '',
        ]);
        print(...table(['order', 'user', 'expires', '', 'client_request_id'], rows));
      }
      process.exitCode = status.fine;
    });
}
