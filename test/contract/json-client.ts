import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { addressOf, type Answer, type Call, type Caller, type Json, serviceNames, type Targets } from './caller.ts';
import { connectCodes, errorOfJson } from './connect-error.ts';

/** A POST of JSON over HTTP/1.1, as any program without a library sends it: what comes back is the JSON of the wire itself. */
export class JsonClient implements Caller {
  readonly name = 'Connect JSON, HTTP/1.1';
  readonly port = 'http';
  readonly sendsDeadline = true;
  readonly #targets: Targets;

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  async call({ service, method, request, headers, timeoutMs }: Call): Promise<Answer> {
    const { http, caFile } = this.#targets;
    const path = `${addressOf(http, service)}/${serviceNames[service]}/${method}`;
    const timeout = timeoutMs === undefined ? {} : { 'connect-timeout-ms': String(timeoutMs) };
    const options = {
      method: 'POST',
      headers: { ...headers, ...timeout, 'content-type': 'application/json' },
      ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    };
    const sent =
      caFile === undefined ? requestHttp(`http://${path}`, options) : requestHttps(`https://${path}`, options);
    const body = await new Promise<{ status: number; json: Json }>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        text(response).then(
          (json) => resolve({ status: response.statusCode!, json: JSON.parse(json) as Json }),
          reject,
        );
      });
      sent.end(JSON.stringify(request));
    });
    if (body.status === 200) return { response: body.json };
    const error = errorOfJson(body.json);
    const expected = HTTP_STATUS[connectCodes[error.code]!] ?? 500;
    if (body.status !== expected) throw new Error(`HTTP status ${body.status}, expected ${expected}`);
    return { error };
  }
}

// https://connectrpc.com/docs/protocol/#error-codes
const HTTP_STATUS: Readonly<Record<string, number>> = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  unavailable: 503,
  unauthenticated: 401,
};
