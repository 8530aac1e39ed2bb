import { channel } from 'node:diagnostics_channel';

/** A process has come to a step, or has done it. */
export interface StepEvent {
  /** The name of the step, as its service lists it. */
  readonly step: string;
  /** `end` is published only when the step did not fail. */
  readonly at: 'start' | 'end';
}

/**
 * Where steps are published, for whoever wants to see them: a tracer, or a test that kills the process there. Subscribers are called
 * at once, before the process goes on.
 *
 * @see https://nodejs.org/api/diagnostics_channel.html
 */
export const stepChannel = channel('ordersystem.step');

/**
 * Makes the function with which a service runs its steps: the points between which something durable happens, each named once.
 *
 * @param names every step of the service. The type keeps any other name out.
 */
export function stepsOf<Name extends string>(names: readonly Name[]) {
  void names;
  return async <T>(step: Name, work: () => Promise<T>): Promise<T> => {
    if (!stepChannel.hasSubscribers) return work();
    stepChannel.publish({ step, at: 'start' } satisfies StepEvent);
    const result = await work();
    stepChannel.publish({ step, at: 'end' } satisfies StepEvent);
    return result;
  };
}
