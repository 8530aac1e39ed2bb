import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { addressOf, type Answer, type Call, type Caller, serviceNames, type Targets } from './caller.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
// The system's own, which has Debian's packages.
const PYTHON = '/usr/bin/python3';

/** Why there is no Python caller here; undefined: there is. */
export function pythonMissing(): string | undefined {
  const { status } = spawnSync(PYTHON, ['-c', 'import grpc, google.protobuf'], { stdio: 'ignore' });
  return status === 0 ? undefined : `${PYTHON} has no grpcio (Debian: python3-grpcio)`;
}

/** `caller.py`: a process that takes one call a line, and answers each by a line. */
export class PythonCaller implements Caller, AsyncDisposable {
  readonly name = 'gRPC, Python';
  readonly port = 'grpc';
  readonly #targets: Targets;
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #answers: AsyncIterator<string>;

  constructor(targets: Targets) {
    this.#targets = targets;
    const script = fileURLToPath(new URL('caller.py', import.meta.url));
    this.#child = spawn(PYTHON, [script], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
    // A write to one that has ended: the answer that does not come says so.
    this.#child.stdin!.on('error', () => undefined);
    this.#lines = createInterface(this.#child.stdout!);
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  async call({ service, method, request, headers }: Call): Promise<Answer> {
    const { grpc, caFile } = this.#targets;
    const call = { target: addressOf(grpc, service), caFile, service: serviceNames[service], method, request, headers };
    this.#child.stdin!.write(`${JSON.stringify(call)}\n`);
    const line = await this.#answers.next();
    if (line.done) throw new Error('caller.py has ended');
    return JSON.parse(line.value) as Answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    if (this.#child.exitCode === null) await once(this.#child, 'close');
  }
}
