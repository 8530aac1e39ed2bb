import { stepsOf } from '../../runtime/steps.ts';

/** Every step of order-svc: a commit, or a call. Its process may die at the start and at the end of each, and the promise holds. */
export const orderSteps = [
  // CreateOrder
  'pre-check',
  'claim',
  'deduct',
  'persist',
  // what became no order
  'compensate.restore',
  'compensate.unclaim',
  'stage-restores',
  // the life of an order
  'pay',
  'refuse-payment',
  'cancel',
  'expire',
  // the outbox
  'events.lease',
  'event.handle',
  'events.settle',
  'event.give-back',
  'events.delete',
] as const;

export const step = stepsOf(orderSteps);
