import assert from 'node:assert/strict';
import type { Json, WireError } from './caller.ts';
import { decodeDetail } from './contract-types.ts';

/** Connect's names of the gRPC codes: each stands at its number. */
export const connectCodes: readonly string[] = [
  'ok',
  'canceled',
  'unknown',
  'invalid_argument',
  'deadline_exceeded',
  'not_found',
  'already_exists',
  'permission_denied',
  'resource_exhausted',
  'failed_precondition',
  'aborted',
  'out_of_range',
  'unimplemented',
  'internal',
  'unavailable',
  'data_loss',
  'unauthenticated',
];

/** Reads an error in Connect's JSON. A detail's `debug`, where there is one, must say what its bytes say. */
export function errorOfJson(json: Json): WireError {
  const packed = (json['details'] ?? []) as { type: string; value: string; debug?: Json }[];
  const details = packed.map(({ type, value, debug }) => {
    const detail = decodeDetail(type, Buffer.from(value, 'base64'));
    if (debug) assert.deepEqual(debug, detail.value, `debug of ${type} is not what its value says`);
    return detail;
  });
  const code = connectCodes.indexOf(String(json['code']));
  assert.ok(code > 0, `no error of Connect: ${JSON.stringify(json)}`);
  return { code, details };
}
