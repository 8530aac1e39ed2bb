import { type Command, Option } from 'commander';
import type { Access } from '../access.ts';
import { runAudit } from '../audit/run-audit.ts';
import { rules } from '../audit/findings.ts';
import { durationMs, limitOption, timeMs } from './options.ts';

export function addAuditCommand(program: Command, access: Access): void {
  const width = Math.max(...Object.keys(rules).map((rule) => rule.length));
  const meanings = Object.entries(rules).map(([rule, meaning]) => `  ${rule.padEnd(width)}  ${meaning}`);
  program
    .command('audit')
    .description('Holds both databases against everything that must hold always, while the services are at work.')
    .option('--json', 'one JSON document')
    .option('--repair', 'mend what can be mended safely')
    .option('--yes', 'do not ask before a repair')
    .option(
      '--since <time>',
      'only orders since then: 24h, 2026-11-30, 2026-11-30T08:00Z; sums are always whole',
      timeMs,
    )
    .addOption(
      new Option(
        '--retention <duration>',
        'how long events are kept, so that an older order may be without (default: EVENT_RETENTION_MS, 7d)',
      ).argParser(durationMs),
    )
    .addOption(limitOption(1_000))
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem audit
  $ ordersystem audit --json | jq '.findings[]'
  $ ordersystem audit --since 2h --repair --yes      from cron

What is at work is not taken for broken: each finding is proven by three looks, one after the
other, at the two databases.

The rules, and what is reported when one is broken:
${meanings.join('\n')}

--repair stages a STOCK_RESTORE event for STOCK_TAKEN_FOR_NOTHING, and requeues what is DEAD.
Any other finding needs a person.

Status 1: there are findings, repaired or not.`,
    )
    .action((options: Parameters<typeof runAudit>[1]) => runAudit(access, options));
}
