import { stepsOf } from '../../runtime/steps.ts';

/** Every step of stock-svc: a commit. Its process may die at the start and at the end of each, and the promise holds. */
export const stockSteps = ['deduct', 'restore', 'receive-stock', 'put-products'] as const;

export const step = stepsOf(stockSteps);
