/** JSON as the contract maps it: lowerCamelCase, an int64 as a string, what has its default value left out. */
export type Json = Record<string, unknown>;

export type Service = 'order' | 'stock';

export const serviceNames: Readonly<Record<Service, string>> = {
  order: 'ordersystem.order.v1.OrderService',
  stock: 'ordersystem.stock.v1.StockService',
};

export interface Call {
  readonly service: Service;
  readonly method: string;
  readonly request: Json;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as the call's deadline. Default: none. */
  readonly timeoutMs?: number | undefined;
}

/** What an error says on the wire. */
export interface WireError {
  /** The gRPC code. */
  readonly code: number;
  readonly details: readonly Detail[];
}

/** One google.rpc message, decoded. */
export interface Detail {
  /** Such as `google.rpc.ErrorInfo`. */
  readonly type: string;
  readonly value: Json;
}

export type Answer = { readonly response: Json } | { readonly error: WireError };

/** A client that nobody here wrote, or that is made of nothing but the contract. */
export interface Caller {
  /** The column of the table: protocol, and by what. */
  readonly name: string;
  /** Which of a service's ports it calls. */
  readonly port: 'grpc' | 'http';
  /** Can send a deadline, and lets the server be the one that ends the call by it. */
  readonly sendsDeadline?: boolean;
  call(call: Call): Promise<Answer>;
}

/** Where the services are, `host:port`, and how to reach them. */
export interface Targets {
  readonly grpc: Partial<Record<Service, string>>;
  readonly http: Partial<Record<Service, string>>;
  /** Certificates of the authorities that the servers are checked by, as a file. Undefined: plain text. */
  readonly caFile?: string | undefined;
}

export function addressOf(addresses: Targets['grpc'], service: Service): string {
  const address = addresses[service];
  if (address === undefined) throw new Error(`there is no target for ${serviceNames[service]}`);
  return address;
}
