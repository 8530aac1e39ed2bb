import { readFileSync } from 'node:fs';
import { type Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { addressOf, type Answer, type Call, type Caller, type Json, type Service, type Targets } from './caller.ts';
import { clientOf, decodeStatus } from './contract-types.ts';

type Unary = (
  request: Json,
  metadata: Metadata,
  callback: (error: ServiceError | null, response: Json) => void,
) => unknown;

/** grpc-js with the contract read at run time. */
export class DynamicClient implements Caller, Disposable {
  readonly name = 'gRPC, grpc-js';
  readonly port = 'grpc';
  readonly sendsDeadline = true;
  readonly #targets: Targets;
  readonly #clients = new Map<Service, Client>();

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  call({ service, method, request, headers, timeoutMs }: Call): Promise<Answer> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    // Not as an option: then the client would end the call by its own clock.
    if (timeoutMs !== undefined) metadata.set('grpc-timeout', `${timeoutMs}m`);
    const client = this.#client(service) as unknown as Record<string, Unary>;
    return new Promise((resolve, reject) => {
      client[method]!(request, metadata, (error, response) => {
        if (!error) return resolve({ response: jsonOf(response) as Json });
        const [bytes] = error.metadata.get('grpc-status-details-bin');
        if (bytes === undefined) return resolve({ error: { code: error.code, details: [] } });
        const { code, message, details } = decodeStatus(bytes as Buffer);
        if (code !== Number(error.code) || message !== error.details) {
          return reject(
            new Error(`grpc-status and grpc-status-details-bin differ: ${error.message}; ${code} ${message}`),
          );
        }
        resolve({ error: { code, details } });
      });
    });
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client.close();
  }

  #client(service: Service): Client {
    let client = this.#clients.get(service);
    if (!client) {
      const { grpc, caFile } = this.#targets;
      const trust = caFile === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(caFile));
      // Retries of the client's own would hide an error.
      client = new (clientOf(service))(addressOf(grpc, service), trust, { 'grpc.enable_retries': 0 });
      this.#clients.set(service, client);
    }
    return client;
  }
}

/** A decoded message as JSON: what is a Timestamp becomes text, the rest is so already. */
function jsonOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const { seconds, nanos = 0 } = value as { seconds?: string; nanos?: number };
  if (seconds !== undefined && entries.every(([name]) => name === 'seconds' || name === 'nanos')) {
    return new Date(Number(seconds) * 1000 + nanos / 1e6).toISOString();
  }
  return Object.fromEntries(entries.map(([name, one]) => [name, jsonOf(one)]));
}
