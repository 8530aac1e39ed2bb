import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Outcome, root, runTool } from './run-tool.ts';

/** Generates gen/ anew in a temporary folder and compares. */
export async function staleCode(): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'generated-'));
  try {
    const generated = await runTool('buf', 'generate', '--output', folder);
    if (!generated.ok) return generated;
    const [fresh, present] = await Promise.all([readTree(join(folder, 'gen')), readTree(join(root, 'gen'))]);
    const complaints = [...new Set([...fresh.keys(), ...present.keys()])].sort().flatMap((path) => {
      if (!present.has(path)) return [`gen/${path} is missing`];
      if (!fresh.has(path)) return [`gen/${path} is left over: no proto makes it`];
      return fresh.get(path) === present.get(path) ? [] : [`gen/${path} is stale`];
    });
    return { ok: complaints.length === 0, output: [...complaints, 'run: npm run generate'].join('\n') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readTree(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(paths.map(async (path) => [relative(folder, path), await readFile(path, 'utf8')] as const)),
  );
}
