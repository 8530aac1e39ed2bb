import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import {
  addressOf,
  type Answer,
  type Call,
  type Caller,
  type Json,
  type Service,
  serviceNames,
  type Targets,
} from './caller.ts';
import { errorOfJson } from './connect-error.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type BufProtocol = 'grpc' | 'grpcweb' | 'connect';

/** Where buf learns what the messages are: asked of the server, or read from `proto/`. */
export type BufSchema = 'reflection' | 'schema';

/** `buf curl`: a process for each call. */
export class BufCurl implements Caller {
  readonly name: string;
  readonly port: Caller['port'];
  readonly #targets: Targets;
  readonly #protocol: BufProtocol;
  readonly #schema: BufSchema;

  constructor(targets: Targets, protocol: BufProtocol, schema: BufSchema) {
    const title = { grpc: 'gRPC', grpcweb: 'gRPC-Web', connect: 'Connect' }[protocol];
    this.name = `${title}, buf curl by ${schema}`;
    this.port = protocol === 'grpc' ? 'grpc' : 'http';
    this.#targets = targets;
    this.#protocol = protocol;
    this.#schema = schema;
  }

  async call({ service, method, request, headers }: Call): Promise<Answer> {
    const header = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const path = `${serviceNames[service]}/${method}`;
    const { stdout, stderr, status } = await this.#run([...header, '-d', '@-'], service, path, JSON.stringify(request));
    if (status === 0) return { response: JSON.parse(stdout) as Json };
    const error = errorOfJson(parse(stderr));
    if (status !== error.code * 8) throw new Error(`buf ended with ${status}, which is not 8 × ${error.code}`);
    return { error };
  }

  /** The RPCs that the server says it has, as `Service/Method`. */
  async listMethods(service: Service): Promise<string[]> {
    const { stdout, stderr } = await this.#run(['--list-methods'], service, '', '');
    if (stderr !== '') throw new Error(stderr.trim());
    return stdout.trim().split('\n');
  }

  async #run(options: string[], service: Service, path: string, input: string) {
    const { caFile } = this.#targets;
    const address = addressOf(this.#targets[this.port], service);
    const trust = caFile === undefined ? ['--http2-prior-knowledge'] : ['--cacert', caFile];
    const schema = this.#schema === 'schema' ? ['--schema', 'proto'] : [];
    const url = `${caFile === undefined ? 'http' : 'https'}://${address}/${path}`;
    const args = ['curl', '--protocol', this.#protocol, ...trust, ...schema, ...options, url];
    const child = spawn('node_modules/.bin/buf', args, { cwd: root, stdio: 'pipe' });
    // A process that refuses its arguments reads nothing.
    child.stdin.on('error', () => undefined).end(input);
    const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
    const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { stdout, stderr, status };
  }
}

function parse(stderr: string): Json {
  try {
    return JSON.parse(stderr) as Json;
  } catch {
    throw new Error(`buf curl: ${stderr.trim()}`);
  }
}
