import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { GrpcHost, type HostOptions } from './host.ts';
import { HttpDoor, type HttpDoorOptions } from './http-door.ts';
import { admissionInterceptor } from './overload.ts';

/** Where a service listens. */
export interface Addresses {
  /** Its gRPC port: `host:port`. */
  readonly address: string;
  /** Its HTTP port; null when it has none. */
  readonly httpAddress: string | null;
}

/** The two doors of a service: the same implementations, interceptors and limits behind a gRPC port and an HTTP port. */
export class Doors {
  readonly grpc: GrpcHost;
  readonly http: HttpDoor;

  constructor(options: HostOptions & Pick<HttpDoorOptions, 'corsOrigins' | 'notReady'>) {
    this.grpc = new GrpcHost(options);
    const { admission, interceptors } = options;
    this.http = new HttpDoor({
      ...options,
      interceptors: admission ? [admissionInterceptor(admission), ...interceptors] : interceptors,
    });
  }

  /** As each door's `add`. */
  add<S extends DescService>(service: S, impl: Partial<ServiceImpl<S>>): void {
    this.grpc.add(service, impl);
    this.http.add(service, impl);
  }

  /** Listens on `host:port`, port 0 for a free one; an HTTP address of null is none. Fails when a port is taken. */
  async listen(at: Addresses): Promise<Addresses> {
    const address = await this.grpc.listen(at.address);
    return { address, httpAddress: at.httpAddress && (await this.http.listen(at.httpAddress)) };
  }

  /** As each door's `stop`, both at once. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([this.grpc.stop(graceMs), this.http.stop(graceMs)]);
  }
}
