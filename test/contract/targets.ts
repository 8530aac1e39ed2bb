import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import type { Targets } from './caller.ts';
import type { World } from './world.ts';

export const USAGE = `usage: npm run contract -- --target HOST:PORT
  --target, --stock-target            the gRPC ports of order-svc and stock-svc
  --http-target, --stock-http-target  their HTTP ports
  --header, --stock-header            'name: value' of every call, as often as needed; default: x-user-id of a random user, and nothing
  --ca                                a file of certificates: TLS to every target, checked by them`;

interface Options {
  target?: string | undefined;
  'stock-target'?: string | undefined;
  'http-target'?: string | undefined;
  'stock-http-target'?: string | undefined;
  header?: string[] | undefined;
  'stock-header'?: string[] | undefined;
  ca?: string | undefined;
}

/** What the command line asks for; or what is wrong with it. */
export function readTargets(options: Options): { targets: Targets; headers: World['headers'] } | string {
  if (options.target === undefined) return '--target is missing';
  const named = ['target', 'stock-target', 'http-target', 'stock-http-target'] as const;
  const wrong = named.find((name) => options[name] !== undefined && !/^[^/\s]+:\d+$/.test(options[name]));
  if (wrong) return `--${wrong} must be HOST:PORT, was ${options[wrong]}`;
  const order = readHeaders(options.header ?? [`x-user-id: ${randomInt(1, 2 ** 47)}`]);
  const stock = readHeaders(options['stock-header'] ?? []);
  if (typeof order === 'string') return order;
  if (typeof stock === 'string') return stock;
  const addresses = (order: string | undefined, stock: string | undefined) => ({
    ...(order !== undefined && { order }),
    ...(stock !== undefined && { stock }),
  });
  return {
    targets: {
      grpc: addresses(options.target, options['stock-target']),
      http: addresses(options['http-target'], options['stock-http-target']),
      caFile: options.ca === undefined ? undefined : resolve(options.ca),
    },
    headers: { order, stock },
  };
}

function readHeaders(lines: readonly string[]): Record<string, string> | string {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const match = /^([\w-]+):\s*(.*)$/.exec(line);
    // The value may be a secret.
    if (!match) return `a header must be 'name: value'`;
    headers[match[1]!.toLowerCase()] = match[2]!;
  }
  return headers;
}
