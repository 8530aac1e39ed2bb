import { randomUUID } from 'node:crypto';
import { type CommandContext, runCommand } from './run-command.ts';
import { auditCommand, curlCommands } from './start/commands-to-paste.ts';
import { startStack } from './start/start-stack.ts';

if (process.argv.length > 2) {
  process.stderr.write('usage: npm start\n');
  process.exit(2);
}

await runCommand({ name: 'start', run, interruptedStatus: 0 });

/** Both services until Ctrl-C, or until one of them ends by itself, which is an error. */
async function run(context: CommandContext): Promise<never> {
  const { print } = context;
  const stack = await startStack(context);
  const { orderAddress, stockAddress, orderHttpAddress, stockHttpAddress, database, dataDir } = stack;
  print(`\norder-svc is on ${orderAddress}, stock-svc on ${stockAddress}, over ${database}. Ctrl-C ends both.`);
  print(`Over HTTP they are on ${orderHttpAddress} and ${stockHttpAddress}.`);
  if (dataDir) print(`The data stays in ${dataDir}.`);
  for (const [what, command] of curlCommands(orderAddress, stockAddress, orderHttpAddress, randomUUID()))
    print(`\n# ${what}\n${command}`);
  // The password of a server that was started here opens nothing else.
  if (dataDir)
    print(`\n# hold both databases against what must hold always\n${auditCommand(stack.orderUrl, stack.stockUrl)}`);
  print('');
  return stack.died;
}
