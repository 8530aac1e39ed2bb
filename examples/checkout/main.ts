import { type CommandContext, runCommand } from '../../dev/run-command.ts';
import { requireFreePort } from '../../dev/start/require-free-port.ts';
import { startStack } from '../../dev/start/start-stack.ts';
import { startGateway } from './gateway.ts';

await runCommand({ name: 'example', run, interruptedStatus: 0 });

/** The development stack, and the shop before it, until Ctrl-C. */
async function run(context: CommandContext): Promise<never> {
  const listen = process.env['EXAMPLE_LISTEN_ADDRESS'] || '127.0.0.1:3000';
  await requireFreePort(listen, 'EXAMPLE_LISTEN_ADDRESS');
  const { orderAddress, stockAddress, died } = await startStack(context);
  const gateway = await startGateway({ listen, orderAddress, stockAddress, productIds: [1n, 2n, 3n] });
  context.cleanup.defer(() => gateway.stop());
  context.print(`\nThe shop is open on http://${gateway.address}. Ctrl-C closes it.\n`);
  return died;
}
