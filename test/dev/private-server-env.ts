import { findProgram } from '../../dev/database/server-program.ts';

/**
 * An environment in which `startDatabase` runs a private server, which ends with its process. Rejects on a machine that has no way
 * to run one.
 */
export async function privateServerEnv(): Promise<NodeJS.ProcessEnv> {
  await Promise.any(['mysqld', 'apt-get', 'mariadbd'].map((name) => findProgram(name, process.env)));
  const source = process.env['DATABASE_SOURCE'] ?? '';
  return {
    DATABASE_URL: '',
    DATABASE_SOURCE: source === 'container' ? '' : source,
    DOCKER_HOST: 'unix:///nowhere',
  };
}
