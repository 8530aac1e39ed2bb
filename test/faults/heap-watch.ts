// Loaded into a service's process before its own code (`node --import`): collects all garbage every few seconds, and writes the bytes
// that are left to HEAP_FILE. What a process holds of the machine says nothing of that: V8 collects when it sees fit.
import { writeFileSync } from 'node:fs';
import { memoryUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const EVERY_MS = 5000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setInterval(() => {
  collect();
  const { heapUsed, external } = memoryUsage();
  writeFileSync(process.env['HEAP_FILE']!, String(heapUsed + external));
}, EVERY_MS).unref();
