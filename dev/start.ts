import { randomUUID } from 'node:crypto';
import { type CommandContext, runCommand } from './run-command.ts';
import { curlCommands } from './start/curl-commands.ts';
import { startStack } from './start/start-stack.ts';

if (process.argv.length > 2) {
  process.stderr.write('usage: npm start\n');
  process.exit(2);
}

await runCommand({ name: 'start', run, interruptedStatus: 0 });

/** Both services until Ctrl-C, or until one of them ends by itself, which is an error. */
async function run(context: CommandContext): Promise<never> {
  const { print } = context;
  const { orderAddress, stockAddress, database, dataDir, died } = await startStack(context);
  print(`\norder-svc is on ${orderAddress}, stock-svc on ${stockAddress}, over ${database}. Ctrl-C ends both.`);
  if (dataDir) print(`The data stays in ${dataDir}.`);
  for (const [what, command] of curlCommands(orderAddress, stockAddress, randomUUID()))
    print(`\n# ${what}\n${command}`);
  print('');
  return died;
}
