import { copyFile, glob, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { root, runTool } from './check/run-tool.ts';

// Builds client/ into dist/, or into the folder that is named: a package of JavaScript and types, since Node runs no TypeScript under
// node_modules. Its manifest is this project's, with no more packages than the client imports.
const dist = process.argv[2] ?? join(root, 'dist');

for (const folder of ['client', 'gen', 'runtime']) await rm(join(dist, folder), { recursive: true, force: true });
const compiled = await runTool('tsc', '-p', 'tsconfig.client.json', '--outDir', dist);
if (!compiled.ok) {
  console.error(compiled.output);
  process.exit(1);
}

const { name, version, description, license, type, engines } = manifest;
const exports = Object.fromEntries(Object.entries(manifest.exports).map(([path, source]) => [path, built(source)]));
const dependencies = await importedPackages();
const own = { name, version, description, license, type, sideEffects: false, exports, engines, dependencies };
await writeFile(join(dist, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
for (const file of ['LICENSE', 'README.md']) await copyFile(join(root, file), join(dist, file));
console.log(`built ${name} ${version} in ${dist}: npm install it, or npm pack it`);

function built(source: string): { types: string; default: string } {
  const path = source.slice(0, -'.ts'.length);
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

async function importedPackages(): Promise<Record<string, string>> {
  const found = new Set<string>();
  for await (const file of glob('**/*.js', { cwd: dist })) {
    const code = await readFile(join(dist, file), 'utf8');
    for (const [, one] of code.matchAll(/ from ['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/g)) found.add(one!);
  }
  const declared = Object.entries(manifest.dependencies).filter(([one]) => found.has(one));
  return Object.fromEntries(declared.map(([one, exact]) => [one, `^${exact}`]));
}
