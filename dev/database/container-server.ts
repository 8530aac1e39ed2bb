import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findContainerEngine } from './container-engine.ts';
import { FolderInUseError } from './keep-running.ts';
import { serverOptions } from './server-options.ts';
import type { Durability } from './server-options.ts';

const defaultImage = 'mysql:8.4';
const startTimeoutMs = 120_000;
// For a server to write its pages before a volume is used again.
const stopTimeoutMs = 20_000;

export interface ContainerServerOptions {
  durability: Durability;
  /** Names the data that a volume of the engine keeps between runs; without it the data ends with the container. */
  dataDir?: string | undefined;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
}

/** The name is the container's, and the volume's when the data is kept. */
interface Identity {
  name: string;
  password: string;
}

/** Starts a MySQL container: the image named by `MYSQL_IMAGE`, by default MySQL 8.4. Stopping it removes it. */
export async function startContainerServer(
  options: ContainerServerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { dataDir, durability, env, log } = options;
  const engine = await findContainerEngine(env);
  // Testcontainers reads the process's own environment, and does not look for podman.
  process.env['DOCKER_HOST'] ||= engine;
  // Many modules, wanted only where an engine answers.
  const { GenericContainer, Wait } = await import('testcontainers');

  const image = env['MYSQL_IMAGE'] || defaultImage;
  const { name, password } = dataDir === undefined ? newIdentity() : await keptIdentity(dataDir);
  log(`starting a container of ${image}…`);
  const container = new GenericContainer(image)
    .withName(name)
    .withEnvironment({ MYSQL_ROOT_PASSWORD: password, MYSQL_ROOT_HOST: '%' })
    .withCommand(serverOptions(durability))
    .withExposedPorts(3306)
    // The image starts a server twice, the first time without a port.
    .withWaitStrategy(Wait.forLogMessage(/ready for connections.*port: 3306\b/))
    .withStartupTimeout(startTimeoutMs);
  const target = '/var/lib/mysql';
  if (dataDir !== undefined) container.withBindMounts([{ source: name, target }]);
  else if (durability === 'relaxed') container.withTmpFs({ [target]: 'rw' });

  const started = await container.start().catch(async (error: unknown) => {
    const nameTaken = /container name .* is already in use/i.test(String(error));
    if (nameTaken) throw new FolderInUseError(`${dataDir} is in use by container ${name}`, { cause: error });
    await removeContainer(name);
    throw error;
  });
  return {
    url: `mysql://root:${password}@${started.getHost()}:${started.getMappedPort(3306)}`,
    stop: once(async () => {
      await started.stop({ timeout: dataDir === undefined ? 0 : stopTimeoutMs });
    }),
  };
}

function newIdentity(): Identity {
  return { name: `ordersystem-db-${randomUUID()}`, password: randomBytes(12).toString('hex') };
}

async function keptIdentity(dataDir: string): Promise<Identity> {
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, 'container.json');
  await writeFile(file, JSON.stringify(newIdentity()), { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  return JSON.parse(await readFile(file, 'utf8')) as Identity;
}

/** Testcontainers leaves a container that could be created and not started. */
async function removeContainer(name: string): Promise<void> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  const { container } = await getContainerRuntimeClient();
  // Fails when none was created, or when it is gone already.
  await container.remove(container.getById(name), { removeVolumes: true }).catch(() => undefined);
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
