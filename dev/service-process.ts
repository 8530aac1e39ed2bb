import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const readyTimeoutMs = 30_000;
// More than a service's DRAIN_MS of 10 s.
const stopTimeoutMs = 15_000;
const keptLines = 10;
const keptCharacters = 8_000;

// Each line of standard input is a signal for the service. The input ends even when this process is killed by SIGKILL, and the
// service ends with it. A shell's job has no input of its own, hence descriptor 3.
const keeper = `
exec 3<&0
"$@" </dev/null 3<&- &
service=$!
(while read -r signal <&3; do kill -s "$signal" "$service"; done; kill -s KILL "$service") >/dev/null 2>&1 &
guard=$!
wait "$service"
status=$?
kill -s KILL "$guard" 2>/dev/null
exit "$status"`;

/** Which service to run, and how. */
export interface ServiceOptions {
  name: 'order-svc' | 'stock-svc';
  /** Set on top of this process's own environment. */
  env: Record<string, string>;
  /** Gets each line that the service prints. By default they are kept for errors only. */
  onLine?: (line: string) => void;
}

/** A service as a process of its own, which ends with this one, however that ends. */
export class ServiceProcess {
  /** Resolves to the address when the service serves. Rejects with its last lines when it ends before, or takes too long. */
  readonly ready: Promise<string>;
  /** Its HTTP address, once `ready` has resolved; empty when it has none. */
  httpAddress = '';
  /** Rejects with its last lines when the service ends without having been told to; never resolves. */
  readonly died: Promise<never>;
  /** Resolves when its process is gone, however it ended. */
  readonly gone: Promise<void>;
  readonly #name: string;
  readonly #keeper: ChildProcessByStdio<Writable, Readable, Readable>;
  #printed = '';
  #told = false;

  constructor({ name, env, onLine }: ServiceOptions) {
    this.#name = name;
    this.#keeper = spawn('/bin/sh', ['-c', keeper, 'sh', process.execPath, `${name}/main.ts`], {
      cwd: root,
      // A session of its own: Ctrl-C in the terminal reaches this process only, which decides what ends when.
      detached: true,
      // The line that says where it listens is of level info.
      env: { ...process.env, LOG_LEVEL: 'info', HTTP_LISTEN_ADDRESS: '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // A service that has ended reads no signal; that is no error of ours.
    this.#keeper.stdin.on('error', () => undefined);
    const started = Promise.withResolvers<string>();
    const died = Promise.withResolvers<never>();
    const closed = Promise.withResolvers<void>();
    for (const stream of [this.#keeper.stdout, this.#keeper.stderr]) {
      const lines = createInterface(stream);
      lines.on('line', (line) => {
        this.#keep(`${line}\n`);
        onLine?.(line);
        const { address, httpAddress } = startedAt(line) ?? {};
        if (httpAddress !== undefined) this.httpAddress = httpAddress;
        if (address !== undefined) started.resolve(address);
      });
      // Nobody reads them: what splits them would take more of the machine than the service that writes them.
      if (!onLine) {
        void started.promise.then(() => {
          lines.close();
          stream.on('data', (chunk: Buffer) => this.#keep(chunk.toString())).resume();
        });
      }
    }
    this.#keeper.on('error', died.reject);
    this.#keeper.on('close', (status, signal) => {
      closed.resolve();
      if (!this.#told) died.reject(this.#failure(`ended with ${signal ?? `status ${status}`}`));
    });
    // Nobody has to wait for either.
    died.promise.catch(() => undefined);
    this.died = died.promise;
    this.gone = closed.promise;
    this.ready = this.#inTime(started.promise);
    this.ready.catch(() => undefined);
  }

  /** The id of its process group. */
  get pid(): number {
    return this.#keeper.pid ?? -1;
  }

  /** SIGKILL: no chance to end anything. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#tell('KILL');
    await this.gone;
  }

  /** SIGTERM: the service ends what it has in work. Resolves when it is gone; what takes too long is killed. */
  async stop(): Promise<void> {
    this.#tell('TERM');
    const timer = setTimeout(() => this.#tell('KILL'), stopTimeoutMs);
    await this.gone;
    clearTimeout(timer);
  }

  /** CONT: a service that was stopped goes on. USR2: whatever it makes of it. */
  signal(name: 'CONT' | 'USR2'): void {
    this.#keeper.stdin.write(`${name}\n`);
  }

  #keep(text: string): void {
    this.#printed = (this.#printed + text).slice(-keptCharacters);
  }

  #tell(signal: 'TERM' | 'KILL'): void {
    this.#told = true;
    this.#keeper.stdin.write(`${signal}\n`);
  }

  async #inTime(address: Promise<string>): Promise<string> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      const late = () => reject(this.#failure(`was not ready after ${readyTimeoutMs / 1000} s`));
      timer = setTimeout(late, readyTimeoutMs);
    });
    try {
      return await Promise.race([address, this.died, tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(what: string): Error {
    const lines = this.#printed.trimEnd().split('\n').slice(-keptLines);
    const said = this.#printed
      ? `its last lines:\n${lines.map((line) => `  ${line}`).join('\n')}`
      : 'it printed nothing';
    return new Error(`${this.#name} ${what}; ${said}`);
  }
}

function startedAt(line: string): { address: string; httpAddress: string } | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const found = JSON.parse(line) as { message?: unknown; address: string; http_address?: string | null };
    return found.message === 'started' ? { address: found.address, httpAddress: found.http_address ?? '' } : undefined;
  } catch {
    // Not one of the service's own lines.
    return undefined;
  }
}
