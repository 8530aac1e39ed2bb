import { cors } from '@connectrpc/connect';
import type { HttpRequest } from './http-server.ts';

const ALLOWED_METHODS = cors.allowedMethods.join(', ');
const ALLOWED_HEADERS = [...cors.allowedHeaders, 'Authorization', 'X-User-Id', 'Grpc-Previous-Rpc-Attempts'].join(', ');
const EXPOSED_HEADERS = [...cors.exposedHeaders, 'Grpc-Retry-Pushback-Ms'].join(', ');
// Browsers keep it no longer than that.
const PREFLIGHT_SECONDS = '7200';

/** What a browser asks before it sends a page's request to another origin. */
export function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * What tells a browser that a page of this origin may call, and read the answer. Nothing when it is not on the list: the browser then
 * keeps the answer from the page, and sends no request that needs a preflight. No cookies: credentials are in a header.
 *
 * @param origins `https://shop.example`, compared letter by letter.
 */
export function corsHeaders(request: HttpRequest, origins: readonly string[]): Record<string, string> {
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) return {};
  const allowed = { 'access-control-allow-origin': origin };
  if (!isPreflight(request)) return { ...allowed, 'access-control-expose-headers': EXPOSED_HEADERS };
  return {
    ...allowed,
    'access-control-allow-methods': ALLOWED_METHODS,
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
}
