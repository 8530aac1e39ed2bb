import { CallCredentials, ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import { type DoorTls, doorTlsOptions, type TlsFiles, type TlsPems } from './tls.ts';

/** Credentials of a gRPC server. New connections get the certificate as it is then; those that are there go on. */
export function serverCredentials(tls: DoorTls | undefined): ServerCredentials {
  return tls ? new WatchedServerCredentials(tls) : ServerCredentials.createInsecure();
}

/** Credentials of a gRPC channel. New connections use the files as they are then; those that are there go on. */
export function channelCredentials(files: TlsFiles): ChannelCredentials {
  return new WatchedChannelCredentials(files);
}

// grpc-js has credentials of its own that follow a certificate provider, but experimental, and without a first value: the server
// would drop connections until it came.
class WatchedServerCredentials extends ServerCredentials {
  constructor(tls: DoorTls) {
    super(doorTlsOptions(tls), tls.files.current());
    tls.files.onChange((pems) => this.updateSecureContextOptions(pems));
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

class WatchedChannelCredentials extends ChannelCredentials {
  #latest: ChannelCredentials;

  constructor(files: TlsFiles) {
    super();
    this.#latest = fixedCredentials(files.current());
    files.onChange((pems) => (this.#latest = fixedCredentials(pems)));
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
    return {
      // grpc-js keeps a connector for all connections to one address.
      connect: (socket) => this.#latest._createSecureConnector(...args).connect(socket),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => args[2] ?? CallCredentials.createEmpty(),
      destroy() {},
    };
  }
}

function fixedCredentials({ ca, key, cert }: TlsPems): ChannelCredentials {
  return ChannelCredentials.createSsl(ca, key, cert);
}
