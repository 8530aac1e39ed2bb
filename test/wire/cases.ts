import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import fc, { type Arbitrary } from 'fast-check';
import { gzipSync } from 'node:zlib';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { frame, type Sent } from './exchange.ts';
import type { DoorName } from './victim.ts';

export type Form = 'grpc' | 'grpc-web' | 'proto' | 'json';

/** A request that was good once, and what has been done to it. */
export interface Case {
  service: 'order' | 'stock';
  door: DoorName;
  form: Form;
  sent: Sent & { headers: Record<string, string>; body: Uint8Array };
}

/** What makes a request go further than its first check: names of things that exist. */
export interface Known {
  keys: readonly string[];
  orderNos: readonly string[];
  products: readonly bigint[];
}

const MAX_INT64 = 2n ** 63n - 1n;
const contentTypes: Record<Form, string> = {
  grpc: 'application/grpc',
  'grpc-web': 'application/grpc-web+proto',
  proto: 'application/proto',
  json: 'application/json',
};

export function cases(door: DoorName, known: Known): Arbitrary<Case> {
  // The others take or give back the stock of an order: what there is no order for, or none of its stock, is what the audit must find.
  const { receiveStock, putProducts, getStock } = StockService.method;
  const methods: readonly DescMethod[] = [...OrderService.methods, receiveStock, putProducts, getStock];
  const ofMethod = (method: DescMethod) =>
    fc
      .record({
        form: door === 'gRPC' ? fc.constant<Form>('grpc') : fc.constantFrom<Form>('grpc-web', 'proto', 'json'),
        message: messageOf(method.input, known),
        // Most have one thing wrong: with many, the first one hides the others.
        bytes: rarely(fc.array(cut, { minLength: 1, maxLength: 3 })),
        nest: rarely(fc.integer({ min: 1, max: 5000 })),
        gzip: rarely(fc.constant(true)),
        flag: rarely(fc.integer({ min: 0, max: 255 })),
        length: rarely(fc.oneof(fc.nat(64), fc.constantFrom(2 ** 31, 2 ** 32 - 1, 2 ** 20 + 1))),
        headers: rarely(fc.dictionary(headerName, headerValue, { maxKeys: 4 })),
      })
      .map(({ form, message, bytes, nest, gzip, flag, length, headers }): Case => {
        const binary = () => toBinary(method.input, create(method.input, message as never));
        let body = form === 'json' ? jsonOf(method.input, message) : Buffer.from(binary());
        for (const one of bytes ?? []) body = apply(body, one);
        if (nest) body = Buffer.concat([body.subarray(0, -1), nested(form, nest)]);
        const encoding = form === 'grpc' || form === 'grpc-web' ? 'grpc-encoding' : 'content-encoding';
        if (gzip) body = gzipSync(body);
        if (encoding === 'grpc-encoding')
          body = frame(body, { flag: flag ?? (gzip ? 1 : 0), length: length ?? body.length });
        return {
          service: method.parent === OrderService ? 'order' : 'stock',
          door,
          form,
          sent: {
            path: `/${method.parent.typeName}/${method.name}`,
            headers: {
              'content-type': contentTypes[form],
              'x-user-id': '1',
              ...(form === 'grpc' && { te: 'trailers' }),
              ...(gzip && { [encoding]: 'gzip' }),
              ...headers,
            },
            body,
          },
        };
      });
  return fc.oneof(...methods.map(ofMethod));
}

function rarely<T>(what: Arbitrary<T>): Arbitrary<T | undefined> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: what });
}

const headerName = fc.constantFrom(
  ...['content-type', 'x-user-id', 'grpc-timeout', 'connect-timeout-ms', 'grpc-encoding', 'content-encoding'],
  ...['authorization', 'grpc-previous-rpc-attempts', 'x-any', 'x-any-bin', 'connect-protocol-version', 'traceparent'],
);
const headerValue = fc.oneof(
  fc.constantFrom('0', '-1', '1', '1m', '9223372036854775808', '99999999H', '1n', 'gzip', 'br', 'identity', 'Bearer x'),
  fc.constantFrom('application/json', 'application/grpc+json', 'application/json; charset=latin1', '', ',', '%00'),
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
);

type Cut = { at: number; drop: number; put: Uint8Array };

/** Somewhere in the bytes, as a share of their length, some are dropped and others put. */
const cut: Arbitrary<Cut> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  drop: fc.nat(8),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom('"', '{', '}', '[', ',', '1e999', '-0', 'null', '"items":[],', '\\ud800', '9007199254740993')
      .map((text) => Buffer.from(text)),
  ),
});

function apply(body: Buffer, { at, drop, put }: Cut): Buffer {
  const from = Math.floor(at * body.length);
  return Buffer.concat([body.subarray(0, from), put, body.subarray(from + drop)]);
}

/** Groups of the wire format, or lists of JSON, one in the other. */
function nested(form: Form, depth: number): Buffer {
  return form === 'json' ? Buffer.from(`,"x":${'['.repeat(depth)}`) : Buffer.alloc(depth, 0x0b);
}

function jsonOf(desc: DescMessage, message: object): Buffer {
  return Buffer.from(JSON.stringify(toJson(desc, create(desc, message as never))));
}

function messageOf(desc: DescMessage, known: Known): Arbitrary<object> {
  const fields = desc.fields.map((field) => [
    field.localName,
    fc.option(valueOf(field, known), { nil: undefined, freq: 12 }),
  ]);
  return fc
    .record(Object.fromEntries(fields) as Record<string, Arbitrary<unknown>>)
    .map((message) => Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined)));
}

function valueOf(field: DescField, known: Known): Arbitrary<unknown> {
  if (field.fieldKind === 'list') {
    const one = field.message ? messageOf(field.message, known) : scalarOf(field.scalar!, field.name, known);
    return fc.oneof(
      { weight: 9, arbitrary: fc.array(one, { maxLength: 3 }) },
      fc.array(one, { minLength: 90, maxLength: 120 }),
    );
  }
  if (field.message) return messageOf(field.message, known);
  if (field.enum) return fc.oneof(fc.nat(5), fc.integer());
  return scalarOf(field.scalar, field.name, known);
}

function scalarOf(type: ScalarType, name: string, known: Known): Arbitrary<unknown> {
  if (type === ScalarType.BOOL) return fc.boolean();
  if (type === ScalarType.INT32) return fc.oneof(fc.nat(100), fc.integer());
  if (type === ScalarType.INT64) {
    const few = name.includes('product') ? fc.constantFrom(...known.products) : fc.bigInt({ min: 1n, max: 5n });
    return fc.oneof(
      { weight: 6, arbitrary: few },
      fc.constantFrom(0n, -1n, MAX_INT64, -MAX_INT64 - 1n),
      fc.bigInt({ min: -MAX_INT64, max: MAX_INT64 }),
    );
  }
  const some = name.includes('order_no') ? known.orderNos : known.keys;
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...some) },
    fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
    fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.toWellFormed()),
  );
}
