import { once } from 'node:events';
import type { Sequelize } from 'sequelize';
import { acquireConnection, discardConnection, releaseConnection, send } from './connection.ts';

/**
 * Asks the database for an answer. Give it a pool of its own, of one connection: a database that is busy with requests is not dead.
 *
 * @param signal this ping's own. It gives up, and the connection with it: one that a firewall has forgotten is silent for a quarter of an hour.
 * @throws when there is no answer.
 */
export async function pingDatabase(db: Sequelize, signal: AbortSignal): Promise<true> {
  const connection = await acquireConnection(db);
  try {
    signal.throwIfAborted();
    const givenUp = once(signal, 'abort').then(() => Promise.reject(signal.reason as Error));
    await Promise.race([send(connection, 'SELECT 1'), givenUp]);
  } catch (error) {
    discardConnection(db, connection);
    throw error;
  }
  releaseConnection(db, connection);
  return true;
}
