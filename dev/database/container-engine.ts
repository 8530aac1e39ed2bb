import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NotHereError } from './server-program.ts';

// An engine on this machine answers in a few milliseconds; a dead one must not cost every start a wait.
const answerTimeoutMs = 2_000;

/**
 * The address, as in `DOCKER_HOST`, of a container engine that answers. `DOCKER_HOST` is the only one asked when it
 * is set; otherwise the sockets that Docker and podman use are.
 */
export async function findContainerEngine(env: NodeJS.ProcessEnv): Promise<string> {
  const chosen = env['DOCKER_HOST'];
  const addresses = chosen
    ? [chosen]
    : usualSockets(env)
        .filter(existsSync)
        .map((path) => `unix://${path}`);
  for (const address of addresses) if (await answers(new URL(address))) return address;
  if (chosen) throw new Error(`no container engine answers at DOCKER_HOST=${chosen}`);
  throw new NotHereError('no container engine answers');
}

function usualSockets(env: NodeJS.ProcessEnv): string[] {
  const home = env['HOME'] || homedir();
  const run = env['XDG_RUNTIME_DIR'] || `/run/user/${process.getuid?.() ?? 0}`;
  return [
    '/var/run/docker.sock',
    join(run, 'docker.sock'),
    join(home, '.docker/run/docker.sock'),
    join(home, '.docker/desktop/docker.sock'),
    join(home, '.colima/default/docker.sock'),
    join(run, 'podman/podman.sock'),
    '/run/podman/podman.sock',
  ];
}

function answers(address: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (answer: boolean): void => {
      attempt.destroy();
      resolve(answer);
    };
    // Over TCP an engine may want certificates, which is for its client to show: an open port is enough here.
    const attempt =
      address.protocol === 'unix:'
        ? request({ socketPath: address.pathname, path: '/_ping', timeout: answerTimeoutMs }, (response) =>
            done(response.statusCode === 200),
          ).end()
        : connect({ host: address.hostname, port: Number(address.port || 2375), timeout: answerTimeoutMs }, () =>
            done(true),
          );
    attempt.on('timeout', () => done(false));
    attempt.on('error', () => done(false));
  });
}
