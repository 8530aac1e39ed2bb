import assert from 'node:assert/strict';
import { fromJsonString, toJson, toJsonString } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { BadRequestSchema } from '../../../../gen/google/rpc/error_details_pb.ts';
import {
  type CreateOrderRequest,
  CreateOrderRequestSchema as Request,
} from '../../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { GetStockRequestSchema } from '../../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { reasonOf } from '../../../../runtime/rpc/errors.ts';
import { readJson } from '../../../../runtime/rpc/http/read-json.ts';

/** What `readJson` says of a text: its message, and each wrong field with what is wrong. */
function complaints(
  text: string,
  desc: Parameters<typeof readJson>[0] = Request,
): { message: string; fields: string[] } {
  try {
    readJson(desc, text);
  } catch (error) {
    assert.equal(reasonOf(error), 'INVALID_REQUEST');
    const [bad] = (error as ConnectError).findDetails(BadRequestSchema);
    const fields = bad?.fieldViolations.map(({ field, description }) => `${field} ${description}`) ?? [];
    return { message: (error as ConnectError).rawMessage, fields };
  }
  return assert.fail(`nothing is wrong with ${text}`);
}

const item = (text: string) => `{"items":[{"productId":1},{${text}}]}`;

describe('readJson', () => {
  it('reads names as JSON or as the contract has them, and int64 with and without quotes', () => {
    const text =
      '{"client_request_id":"k","items":[{"productId":"9223372036854775807","quantity":2,"unit_price_cents":1e2}]}';
    const message = readJson(Request, text) as CreateOrderRequest;
    const [line] = message.items;
    assert.deepEqual(
      [message.clientRequestId, line?.productId, line?.quantity, line?.unitPriceCents],
      ['k', 9223372036854775807n, 2n, 100n],
    );
  });

  it('reads whatever the library writes', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const line = fc.record({ productId: int64, quantity: int64 });
    fc.assert(
      fc.property(fc.option(fc.string({ unit: 'grapheme' })), fc.array(line), (key, items) => {
        const json = {
          clientRequestId: key,
          items: items.map((one) => ({ productId: String(one.productId), quantity: String(one.quantity) })),
        };
        const text = toJsonString(Request, fromJsonString(Request, JSON.stringify(json)));
        assert.equal(JSON.stringify(toJson(Request, readJson(Request, text) as CreateOrderRequest)), text);
      }),
    );
  });

  const wrong: [what: string, text: string, ...fields: string[]][] = [
    ['an unknown field', '{"clientRequestID":"k"}', 'clientRequestID is no field of CreateOrderRequest'],
    ['an unknown field of a line', item('"amount":1'), 'items[1].amount is no field of CreateOrderItem'],
    [
      'a field of every object',
      '{"constructor":1,"__proto__":2}',
      'constructor is no field of CreateOrderRequest',
      '__proto__ is no field of CreateOrderRequest',
    ],
    ['a field twice', item('"quantity":1,"quantity":2'), 'quantity is given twice'],
    ['a field twice, once in disguise', item('"quantity":1,"quan\\u0074ity":2'), 'quantity is given twice'],
    ['a field by both of its names', item('"productId":1,"product_id":1'), 'items[1].product_id is given twice'],
    [
      'a number that has lost digits',
      item('"productId":9007199254740993'),
      'items[1].product_id is a number over 2^53 - 1: it must be in quotes, to keep its digits',
    ],
    [
      'the same below zero, with an exponent',
      item('"productId":-9.007199254740993e15'),
      'items[1].product_id is a number over 2^53 - 1: it must be in quotes, to keep its digits',
    ],
    ['a number over int64', item('"quantity":"9223372036854775808"'), 'items[1].quantity is no int64'],
    ['a number with a fraction', item('"quantity":1.5'), 'items[1].quantity is no int64'],
    ['text for a number', item('"quantity":"two"'), 'items[1].quantity is no int64'],
    ['a number for text', '{"clientRequestId":5}', 'client_request_id is no string'],
    ['half a surrogate pair', '{"clientRequestId":"\\ud83d"}', 'client_request_id is no string'],
    ['no list', '{"items":{}}', 'items is no list of CreateOrderItem'],
    ['null on a list', '{"items":[null]}', 'items[0] must be a JSON object'],
    [
      'all at once',
      '{"x":1,"items":[{"quantity":true},2]}',
      'x is no field of CreateOrderRequest',
      'items[0].quantity is no int64',
      'items[1] must be a JSON object',
    ],
  ];
  for (const [what, text, ...fields] of wrong) {
    it(`refuses ${what}, by its name`, () => assert.deepEqual(complaints(text).fields, fields));
  }

  it('looks at the numbers of a list as well', () => {
    const text = '{"productIds":[1,9007199254740992]}';
    assert.match(complaints(text, GetStockRequestSchema).fields[0]!, /^product_ids is a number over/);
    assert.ok(readJson(GetStockRequestSchema, '{"productIds":[9007199254740991,"9007199254740993"]}'));
  });

  it('refuses what is no JSON, or no object, and repeats nothing of it', () => {
    for (const text of ['', '{', '{"clientRequestId":"secret', "{'secret':1}", '{"a":1}x']) {
      assert.deepEqual(complaints(text), { message: 'the message is not JSON', fields: [] }, text);
    }
    for (const text of ['[]', 'null', '"secret"', '1']) {
      assert.deepEqual(complaints(text), { message: 'the message must be a JSON object', fields: [] }, text);
    }
  });

  it('is not drowned by a long name, by many of them, nor by depth', () => {
    const many = Array.from({ length: 1000 }, (_one, i) => `"field${i}":${i}`);
    assert.equal(complaints(`{${many.join()}}`).fields.length, 20);
    assert.equal(complaints(`{"items":[${many.map((one) => `{${one}}`).join()}]}`).fields.length, 20);
    const long = complaints(`{"x${'😀'.repeat(100_000)}":1}`);
    assert.ok(long.message.length < 150 && long.message.isWellFormed());
    assert.deepEqual(complaints('['.repeat(500_000)).message, 'the message is not JSON');
    const deep = `{"items":${'['.repeat(500_000)}${']'.repeat(500_000)}}`;
    assert.deepEqual(complaints(deep).fields, ['items[0] must be a JSON object']);
  });
});
