import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, runTool } from './run-tool.ts';

/**
 * Compares proto/ with the contract on the main branch. The commit's files are unpacked here, not fetched by buf, so
 * that a shallow clone and a detached HEAD do as well.
 */
export async function contractBreaks(): Promise<Outcome> {
  const repository = await runTool('git', 'rev-parse', '--git-dir');
  if (!repository.ok) return passed(`not compared: ${repository.output.split('\n', 1)[0]}`);

  const branch = await mainBranch();
  if (branch === undefined) return passed('not compared: this clone has neither main nor origin/main');

  const contract = await runTool('git', 'ls-tree', '--name-only', branch, 'proto', 'buf.yaml');
  if (!contract.ok) return contract;
  if (!contract.output.includes('proto')) return passed(`not compared: ${branch} has no contract yet`);

  const folder = await mkdtemp(join(tmpdir(), 'contract-'));
  try {
    const archive = join(folder, 'main.tar');
    const packed = await runTool('git', 'archive', '--format=tar', `--output=${archive}`, branch, 'proto', 'buf.yaml');
    return packed.ok ? await runTool('buf', 'breaking', '--against', archive) : packed;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function mainBranch(): Promise<string | undefined> {
  for (const branch of ['main', 'origin/main']) {
    const ref = branch === 'main' ? 'refs/heads/main' : 'refs/remotes/origin/main';
    if ((await runTool('git', 'rev-parse', '--quiet', '--verify', `${ref}^{tree}`)).ok) return branch;
  }
  return undefined;
}

function passed(note: string): Outcome {
  return { ok: true, output: '', note };
}
