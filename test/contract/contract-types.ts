import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import type { Detail, Json, Service } from './caller.ts';
import { serviceNames } from './caller.ts';

const folders = ['proto', 'node_modules/google-gax/build/protos'].map(
  (folder) => new URL(`../../${folder}`, import.meta.url).pathname,
);
// The contract as it stands in proto/, with no code of ours that was generated from it.
const definition = loadSync(
  [
    'ordersystem/order/v1/order_service.proto',
    'ordersystem/stock/v1/stock_service.proto',
    'google/rpc/status.proto',
    'google/rpc/error_details.proto',
  ],
  { includeDirs: folders, longs: String, enums: String, bytes: String },
);
const packages = loadPackageDefinition(definition);

export function clientOf(service: Service): ServiceClientConstructor {
  const found = serviceNames[service].split('.').reduce<unknown>((at, name) => (at as Json)[name], packages);
  return found as ServiceClientConstructor;
}

export function methodsOf(service: Service): string[] {
  return Object.keys(definition[serviceNames[service]]!);
}

/** Decodes one message of google.rpc. */
export function decodeDetail(type: string, bytes: Buffer): Detail {
  const message = definition[type] as MessageTypeDefinition<object, object> | undefined;
  if (!message) throw new Error(`an error has a detail of type ${type}, which is not of google.rpc`);
  return { type, value: message.deserialize(bytes) as Json };
}

/** Decodes `grpc-status-details-bin`. */
export function decodeStatus(bytes: Buffer): { code: number; message: string; details: Detail[] } {
  const { value } = decodeDetail('google.rpc.Status', bytes);
  const packed = (value['details'] ?? []) as { type_url?: string; typeUrl?: string; value: string }[];
  const details = packed.map((one) =>
    decodeDetail((one.type_url ?? one.typeUrl ?? '').replace(/^.*\//, ''), Buffer.from(one.value, 'base64')),
  );
  return { code: Number(value['code']), message: String(value['message']), details };
}
