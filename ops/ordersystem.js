#!/usr/bin/env node
// `npx ordersystem`: the code is TypeScript that Node 24 runs by itself. Where the machine's Node is older, the one that npm ci has put
// into the project runs it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = new URL('./main.ts', import.meta.url);

if (Number.parseInt(process.versions.node, 10) >= 24) {
  await import(main.href);
} else {
  const node = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
  if (!existsSync(node)) {
    process.stderr.write(
      `ordersystem: Node 24 is needed, this is ${process.versions.node}, and ${node} is not there\n`,
    );
    process.exit(2);
  }
  // Ctrl-C reaches both; the one that works decides what it means.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
  const { status, signal } = spawnSync(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}
