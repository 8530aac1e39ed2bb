import { OrderStatus as StatusOfContract } from '../../gen/ordersystem/order/v1/order_pb.ts';
import type { ListOrdersRequest } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { fingerprintOf } from '../../runtime/fingerprint.ts';
import { commonError } from '../../runtime/rpc/errors.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import type { Order, OrderStatus } from './order.ts';

const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** Lines of one page. A line is at most 1.1 KB on the wire, and a gRPC client takes 4 MiB. */
const MAX_LINES = 2_000;

const FILTERS: ReadonlyMap<StatusOfContract, OrderStatus | undefined> = new Map([
  [StatusOfContract.UNSPECIFIED, undefined],
  [StatusOfContract.WAIT_PAY, 'WAIT_PAY'],
  [StatusOfContract.PAID, 'PAID'],
  [StatusOfContract.CANCELLED, 'CANCELLED'],
]);

/** Which orders of a user to list, checked. */
export interface PageQuery {
  readonly userId: bigint;
  /** Undefined: all. */
  readonly status: OrderStatus | undefined;
  readonly size: number;
  /** The last order of the page before; undefined: the first page. */
  readonly after: string | undefined;
}

/** Checks a request before anything is touched. */
export function readPageQuery(userId: bigint, request: ListOrdersRequest): PageQuery {
  const violations = new FieldViolations();
  if (!FILTERS.has(request.status)) violations.add('status', 'must be a status of the contract');
  if (request.pageSize < 0) violations.add('page_size', `must not be negative, was ${request.pageSize}`);
  violations.throwIfAny();
  const status = FILTERS.get(request.status);
  const after = request.pageToken === '' ? undefined : readToken(request.pageToken, { userId, status });
  return { userId, status, size: Math.min(request.pageSize || DEFAULT_SIZE, MAX_SIZE), after };
}

/** What a page token is refused with that is not for this user and this filter. */
export function wrongToken() {
  const description = 'must be the next_page_token of a page of the same user and status';
  const fieldViolations = [{ field: 'page_token', description }];
  return commonError('INVALID_REQUEST', `page_token: ${description}`, { fieldViolations });
}

/** The page that the orders found make, and the token of the one that follows; empty: there is none. */
export function cutPage(query: PageQuery, found: readonly Order[]): { orders: Order[]; nextPageToken: string } {
  const orders: Order[] = [];
  let lines = 0;
  for (const order of found.slice(0, query.size)) {
    lines += order.items.length;
    if (orders.length > 0 && lines > MAX_LINES) break;
    orders.push(order);
  }
  const nextPageToken = orders.length < found.length ? tokenOf(query, orders.at(-1)!.orderNo) : '';
  return { orders, nextPageToken };
}

type Filter = Pick<PageQuery, 'userId' | 'status'>;

// Where the page before ended, and what tells a token that is mixed up or cut short. No signature: a query is always for the orders of
// its caller, so that one who forges a token chooses where his own list begins, and no more. An order_no, since the row's id would say
// how many orders there are.
function tokenOf({ userId, status }: Filter, orderNo: string): string {
  const checksum = fingerprintOf([[userId, status, orderNo]]).toString('hex', 0, 8);
  return Buffer.from(`${orderNo}.${checksum}`).toString('base64url');
}

function readToken(token: string, filter: Filter): string {
  const [orderNo = ''] = Buffer.from(token, 'base64url').toString().split('.');
  if (tokenOf(filter, orderNo) !== token) throw wrongToken();
  return orderNo;
}
