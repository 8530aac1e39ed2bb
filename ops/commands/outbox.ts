import { type Command, Option } from 'commander';
import type { Access } from '../access.ts';
import { listEvents, showEvent } from '../outbox/look.ts';
import { parkEvents, requeueDead, requeueEvents } from '../outbox/change.ts';
import { eventStatuses } from '../db/find-events.ts';
import { limitOption } from './options.ts';

export function addOutboxCommands(program: Command, access: Access): void {
  const outbox = program.command('outbox').description('Events: what has to be handed on, and what could not be.');
  outbox
    .command('list')
    .description('Events that are not SENT, the oldest first, with the error of their last attempt.')
    .option('--dead', 'only those that have failed their last attempt')
    .addOption(new Option('--status <status>', 'only those of this status').choices(eventStatuses).conflicts('dead'))
    .option('--type <type>', 'only those of this type, such as STOCK_RESTORE')
    .addOption(limitOption(100))
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem outbox list
  $ ordersystem outbox list --dead --type STOCK_RESTORE
  $ ordersystem outbox list --dead --json | jq -r '.events[].event_id'

WAIT    will be handed on, again and again until it succeeds
DEAD    has failed its last attempt (EVENT_MAX_ATTEMPTS), and holds up the later news of its
        order: somebody has to requeue or park it
PARKED  was put aside by somebody
SENT    done`,
    )
    .action((options: Parameters<typeof listEvents>[1]) => listEvents(access, options));
  outbox
    .command('show')
    .description('One event, with what its handler gets and the error of its last attempt.')
    .argument('<event_id>', 'such as 109823745098240042.ORDER_CREATED')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem outbox show 109823745098240042.ORDER_CREATED

Status 1: there is no such event.`,
    )
    .action((eventId: string, options: { json?: true }) => showEvent(access, eventId, options));
  outbox
    .command('requeue')
    .description(
      'Makes events due now, with all their attempts before them: DEAD, PARKED, or waiting for their next attempt.',
    )
    .argument('[event_id...]', 'which')
    .option('--all-dead', 'all that are DEAD')
    .option('--yes', 'do not ask')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem outbox requeue 109823745098240042.STOCK_RESTORE
  $ ordersystem outbox requeue --all-dead --yes       when what was away for hours is back

Every handler takes repeats, so this is always safe. An event that was parked comes after those
of its order that went out meanwhile.

Status 1: an event is not there, or SENT, or in the hands of a relay at this moment. The others
are requeued.`,
    )
    .action((eventIds: string[], options: { allDead?: true; yes?: true; json?: true }, command: Command) => {
      if (eventIds.length > 0 === (options.allDead ?? false))
        command.error('error: name events, or say --all-dead', { exitCode: 2 });
      return options.allDead ? requeueDead(access, options) : requeueEvents(access, eventIds, options);
    });
  outbox
    .command('park')
    .description('Puts events aside: nobody tries them until they are requeued.')
    .argument('<event_id...>', 'which')
    .option('--yes', 'do not ask')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem outbox park 109823745098240042.ORDER_CREATED

Unlike a DEAD one it holds up no other: those of its order that come after it go out without it,
and once requeued it comes after them. So park what can never succeed, and is in the way of what
can.
The stock of a parked STOCK_RESTORE stays taken.

Status 1: an event is not there, or SENT, or in the hands of a relay at this moment. The others
are parked.`,
    )
    .action((eventIds: string[], options: { yes?: true; json?: true }) => parkEvents(access, eventIds, options));
}
