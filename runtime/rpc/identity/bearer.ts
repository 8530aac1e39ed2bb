import type { Interceptor } from '@connectrpc/connect';

/**
 * Client interceptor: shows a bearer token. Put it last, so that each attempt of a call asks for the token anew.
 *
 * @param token the token, without `Bearer`. Give it to nobody but the server: only over TLS, or on this machine.
 */
export function bearerInterceptor(token: () => string | Promise<string>): Interceptor {
  return (next) => async (request) => {
    request.header.set('authorization', `Bearer ${await token()}`);
    return next(request);
  };
}
