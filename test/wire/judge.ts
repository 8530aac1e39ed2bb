import { fromBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { ClientHttp2Session } from 'node:http2';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ERROR_DOMAIN } from '../../runtime/rpc/errors.ts';
import type { Case } from './cases.ts';
import { exchange, grpcExchange } from './exchange.ts';

/** Sends it. Returns in a word what came back; throws when that is no answer of the contract. */
export async function judge(session: ClientHttp2Session, { form, sent }: Case): Promise<string> {
  if (form === 'grpc') {
    const { http, code, message, reason } = await grpcExchange(session, sent);
    if (http === 415 || http === undefined) return `HTTP ${http}`;
    return verdict(code, reason, message);
  }
  const { got, body } = await exchange(session, sent);
  const status = got[':status'];
  if (status === undefined || status === 431) return `HTTP ${status}`;
  const type = String(got['content-type']);
  if (type.startsWith('application/grpc-web')) return judgeWeb(got, body);
  if (status === 200) return 'OK';
  // Whatever the request is, an error of Connect is JSON.
  const error = JSON.parse(body.toString()) as {
    code: string;
    message?: string;
    details?: { type: string; value: string }[];
  };
  const details = (error.details ?? []).filter(({ type }) => type === ErrorInfoSchema.typeName);
  const infos = details.map(({ value }) => fromBinary(ErrorInfoSchema, Buffer.from(value, 'base64')));
  const reason = infos.find(({ domain }) => domain === ERROR_DOMAIN)?.reason;
  return verdict(error.code === 'internal' ? Code.Internal : Code.Unknown, reason, `${status} ${body.toString()}`);
}

function judgeWeb(got: Record<string, unknown>, body: Buffer): string {
  let trailers = new Map(Object.entries(got).map(([name, value]) => [name, String(value)]));
  for (let rest = body; rest.length >= 5; rest = rest.subarray(5 + rest.readUInt32BE(1))) {
    if (!(rest[0]! & 0x80)) continue;
    const lines = rest
      .subarray(5, 5 + rest.readUInt32BE(1))
      .toString()
      .trim()
      .split('\r\n');
    trailers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
  }
  const details = Buffer.from(trailers.get('grpc-status-details-bin') ?? '', 'base64');
  const [any] = fromBinary(StatusSchema, details).details;
  const reason = any && fromBinary(ErrorInfoSchema, any.value).reason;
  return verdict(Number(trailers.get('grpc-status')), reason, String(trailers.get('grpc-message')));
}

function verdict(code: Code | 0 | undefined, reason: string | undefined, message: string): string {
  if (code === 0) return 'OK';
  if (reason === undefined || reason === 'INTERNAL' || code === Code.Internal)
    throw new Error(`answered with ${code && Code[code]}, reason ${reason}: ${message}`);
  return reason;
}
