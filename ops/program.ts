import { Command } from 'commander';
import type { Access } from './access.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addClaimsCommands } from './commands/claims.ts';
import { addIntentCommands } from './commands/intent.ts';
import { addOrderCommands } from './commands/order.ts';
import { addOutboxCommands } from './commands/outbox.ts';
import { addStockCommands } from './commands/stock.ts';

const overview = `
Everything is read in sessions in which the server refuses to change anything. What changes
something says first what it will do, and asks; where there is no terminal it refuses, unless
--yes. --json prints one document, on one line.

Examples:
  $ ordersystem audit                            does all that must hold always, hold?
  $ ordersystem outbox list --dead               what has been given up, and why
  $ ordersystem order show 109823745098240042    everything about one order
  $ ordersystem outbox requeue --help            more about one command`;

const onEach = `
Environment:
  ORDER_DATABASE_URL    order-svc's database: mysql://user:password@host:port/database
  STOCK_DATABASE_URL    stock-svc's; of both the primary, not a replica, which lags
  STOCK_TARGET          where stock-svc is (default 127.0.0.1:50052); with STOCK_TLS_CA_FILE,
                        STOCK_TLS_CERT_FILE, STOCK_TLS_KEY_FILE, STOCK_TOKEN_FILE as order-svc has

Exit status:
  0  done, and nothing is wrong
  1  something is wrong: a rule is broken, or what was asked for is not there or was refused
  2  could not find out: wrong command line or configuration, or somebody cannot be reached`;

/** All commands. They set the exit status when it is not 0. */
export function createProgram(access: Access): Command {
  const program = new Command('ordersystem')
    .description('Looks into a running OrderSystem Cloud, and mends what is stuck.')
    .exitOverride()
    .showHelpAfterError('(--help says how it is used)')
    .addHelpText('after', overview)
    .addHelpText('afterAll', onEach);
  addAuditCommand(program, access);
  addOrderCommands(program, access);
  addIntentCommands(program, access);
  addStockCommands(program, access);
  addClaimsCommands(program, access);
  addOutboxCommands(program, access);
  return program;
}
