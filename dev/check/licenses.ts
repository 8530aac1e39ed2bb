import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Outcome, root } from './run-tool.ts';

/** What may be deployed beside Apache-2.0, as SPDX names it: https://spdx.org/licenses/ */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

interface Package {
  readonly version?: string;
  readonly license?: unknown;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
}

/** Names what is deployed and has a license that is not allowed. Asks nobody: it reads package-lock.json and node_modules/. */
export async function licenses(): Promise<Outcome> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Package>;
  };
  const deployed = Object.entries(lock.packages).filter(
    // The optional packages are Node itself, for developers, and what is not installed everywhere.
    ([path, { dev, optional, link }]) => path !== '' && !dev && !optional && !link,
  );
  const complaints: string[] = [];
  for (const [path, { version, license = await licenseInside(path) }] of deployed) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (typeof license !== 'string') complaints.push(`${name} ${version}: names no license`);
    else if (!isAllowed(license)) complaints.push(`${name} ${version}: ${license}`);
  }
  return { ok: complaints.length === 0, output: complaints.join('\n') };
}

/** `MIT`, `(MIT OR GPL-3.0)`: one of them is enough; `(Apache-2.0 AND BSD-3-Clause)`: all have to be allowed. */
function isAllowed(expression: string): boolean {
  const parts = (text: string, by: string) => text.split(by).map((part) => part.trim());
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  return parts(plain, ' OR ').some((choice) => parts(choice, ' AND ').every((license) => allowed.has(license)));
}

async function licenseInside(path: string): Promise<unknown> {
  const text = await readFile(join(root, path, 'package.json'), 'utf8').catch(() => '{}');
  return (JSON.parse(text) as Package).license;
}
