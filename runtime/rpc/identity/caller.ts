import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { commonError } from '../errors.ts';

/** Who makes a call, as the identity interceptor has found out. */
export interface Caller {
  /** For whom: a token's `sub`, or the `x-user-id` of a trusted peer, as it was sent. Undefined: for nobody in particular. */
  readonly subject: string | undefined;
  /** What he may do. `all`: a peer that is trusted itself. */
  readonly scopes: ReadonlySet<string> | 'all';
}

const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller of this call' });

type Call = Pick<HandlerContext, 'values'>;

export function setCaller({ values }: Call, caller: Caller): void {
  values.set(callerKey, caller);
}

/** The caller. Throws UNAUTHENTICATED when nobody has found out. */
export function callerOf({ values }: Call): Caller {
  const caller = values.get(callerKey);
  if (!caller) throw commonError('UNAUTHENTICATED', 'the caller is not known');
  return caller;
}

/** Throws PERMISSION_DENIED unless the caller has the scope. */
export function requireScope(call: Call, scope: string): void {
  const { scopes } = callerOf(call);
  if (scopes === 'all' || scopes.has(scope)) return;
  throw commonError('PERMISSION_DENIED', `this call needs the scope ${scope}`, { metadata: { scope } });
}
