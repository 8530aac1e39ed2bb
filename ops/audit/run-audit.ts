import type { Access } from '../access.ts';
import { ask } from '../ask.ts';
import { read } from '../config.ts';
import { status } from '../failure.ts';
import { findingJson } from '../show/finding-json.ts';
import { print, printJson } from '../show/print.ts';
import { endProgress, showProgress } from '../show/progress.ts';
import { table } from '../show/table.ts';
import { findBrokenRules } from './audit.ts';
import type { Databases } from './databases.ts';
import { findDeadEvents } from './dead-events.ts';
import type { Finding } from './findings.ts';
import { repair } from './repair.ts';
import { numberBefore } from './since.ts';

export interface AuditCommandOptions {
  json?: true;
  repair?: true;
  yes?: true;
  /** Milliseconds since 1970. */
  since?: number;
  /** Milliseconds. */
  retention?: number;
  limit: number;
}

/** `ordersystem audit`. */
export async function runAudit(access: Access, options: AuditCommandOptions): Promise<void> {
  const retentionMs = options.retention ?? read(access.env, ['EVENT_RETENTION_MS']).EVENT_RETENTION_MS;
  const databases = await access.databases();
  const startMs = performance.now();
  const { findings, numbers } = await look(databases, retentionMs, options);
  const durationMs = Math.round(performance.now() - startMs);
  const complete = findings.length < options.limit;
  if (findings.length > 0) process.exitCode = status.wrong;
  if (!options.json) {
    const looked = `${numbers.toLocaleString('en')} numbers in ${(durationMs / 1000).toFixed(1)} s`;
    if (findings.length === 0) print(`${looked}: every rule holds`);
    else {
      const more = complete ? '' : `, and perhaps more: it ended at --limit ${options.limit}`;
      print(...findingLines(findings), '', `${looked}: ${findings.length} findings${more}`);
    }
  }
  const repaired = options.repair ? await repairAll(access, databases, findings, options) : new Set<Finding>();
  if (options.json) {
    printJson({
      ok: findings.length === 0,
      numbers,
      duration_ms: durationMs,
      complete,
      findings: findings.map((finding) => ({ ...findingJson(finding), repaired: repaired.has(finding) })),
    });
  } else if (options.repair) print(`${repaired.size} repaired`);
}

async function look(databases: Databases, retentionMs: number, { limit, since }: AuditCommandOptions) {
  let numbers = 0;
  showProgress('adding up the ledger…');
  const findings = await findBrokenRules(databases, {
    limit,
    from: since === undefined ? '' : numberBefore(since, Date.now()),
    // 0: events are kept for ever.
    retentionMs: retentionMs === 0 ? undefined : retentionMs,
    onProgress: (count) => showProgress(`${(numbers = count).toLocaleString('en')} numbers…`),
  });
  findings.push(...(await findDeadEvents(databases.order, limit - findings.length)));
  endProgress();
  return { findings, numbers };
}

const ways = { STAGE_RESTORE: 'stage STOCK_RESTORE', REQUEUE: 'requeue' } as const;

function findingLines(findings: readonly Finding[]): string[] {
  const way = ({ repair: how }: Finding) => (how === undefined ? 'nothing: a person decides' : ways[how]);
  return table(
    ['broken rule', '--repair does', 'what is wrong'],
    findings.map((finding) => [finding.rule, way(finding), finding.message]),
  );
}

async function repairAll(
  access: Access,
  databases: Databases,
  findings: readonly Finding[],
  options: AuditCommandOptions,
): Promise<Set<Finding>> {
  const repaired = new Set<Finding>();
  const some = findings.filter((finding) => finding.repair !== undefined);
  if (some.length === 0) return repaired;
  const plan = some.map((finding) => `${ways[finding.repair!]}: ${finding.eventId ?? finding.orderNo}`);
  await ask(plan, `Repair ${some.length} of ${findings.length} findings?`, options);
  const writable = await access.orderDatabase({ readOnly: false });
  for (const finding of some) if (await repair(databases, writable, finding)) repaired.add(finding);
  return repaired;
}
