import type { People } from './people.ts';
import type { StartServer, World } from './world.ts';

/** What a case works with. */
export interface Stage {
  readonly world: World;
  readonly people: People;
  readonly random: () => number;
}

/** One fault, or a few that belong together. */
export interface Case {
  /** What happens, in words: `order-svc dies at the end of persist`. */
  readonly name: string;
  /** Part of `--quick`. */
  readonly quick?: boolean;
  /**
   * Makes it happen under load, and the world whole again. Returns how many faults were injected. Throws when the fault could not be
   * made to happen: a case that does nothing proves nothing; NotHereError when this machine has none of what it needs.
   */
  readonly run: (stage: Stage) => Promise<number>;
}

/** Faults of one kind. */
export interface Kind {
  readonly name: string;
  /** A database server that its cases need. Default: one that is fast and is not killed. */
  readonly startServer?: StartServer;
  /** Its cases need a broker. Default false. */
  readonly withBroker?: boolean;
  readonly cases: readonly Case[];
}
