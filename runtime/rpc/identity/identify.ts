import type { Interceptor, UnaryRequest } from '@connectrpc/connect';
import { callLogOf } from '../../lifecycle/logger.ts';
import { commonError } from '../errors.ts';
import { peerKey } from '../peer.ts';
import { type Caller, setCaller } from './caller.ts';
import type { Tokens } from './tokens.ts';

/** Who is believed. */
export interface IdentifyOptions {
  /** Undefined: no token is. */
  tokens: Tokens | undefined;
  /** The names of client certificates that are trusted with everything, `x-user-id` included. */
  clientNames: ReadonlySet<string>;
  /** True: so is whoever connects from this machine. */
  trustLoopback: boolean;
}

/**
 * Server interceptor: finds out who calls, or answers UNAUTHENTICATED. A bearer token alone decides when there is one: an `x-user-id`
 * beside it is refused, whatever it says and whoever sends it. Without one the peer itself must be trusted. The answer does not say
 * what was wrong; the log does (`refused`). Put it right behind the request log.
 */
export function identify(options: IdentifyOptions): Interceptor {
  return (next) => async (request) => {
    const caller = await callerIn(request as UnaryRequest, options);
    setCaller({ values: request.contextValues }, caller);
    return next(request);
  };
}

async function callerIn(
  request: UnaryRequest,
  { tokens, clientNames, trustLoopback }: IdentifyOptions,
): Promise<Caller> {
  const authorization = request.header.get('authorization');
  const userId = request.header.get('x-user-id');
  const peer = request.contextValues.get(peerKey);
  const log = callLogOf({ values: request.contextValues });
  if (peer.clientName !== undefined) log.bind({ client: peer.clientName });

  if (authorization !== null) {
    if (userId !== null) throw refusal(request, 'x-user-id beside authorization');
    if (!tokens) throw refusal(request, 'authorization, but no JWT is configured');
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? [];
    if (token === undefined) throw refusal(request, 'authorization is not one bearer token');
    const verdict = await tokens.verify(token);
    if (typeof verdict === 'string') throw refusal(request, verdict);
    return verdict;
  }
  const named = peer.clientName !== undefined && clientNames.has(peer.clientName);
  if (!named && !(trustLoopback && peer.loopback)) {
    throw refusal(
      request,
      userId === null ? 'no token, and the peer is not trusted' : 'x-user-id from a peer that is not trusted',
    );
  }
  return { subject: userId ?? undefined, scopes: 'all' };
}

function refusal({ contextValues }: UnaryRequest, why: string): Error {
  callLogOf({ values: contextValues }).bind({ refused: why });
  return commonError('UNAUTHENTICATED', 'the caller did not show who it is, or is not believed');
}
