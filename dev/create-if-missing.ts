import { createDatabase } from './database/create-database.ts';

/** Creates a database unless it is there. Returns its url. */
export async function createIfMissing(serverUrl: string, name: string): Promise<string> {
  try {
    return await createDatabase(serverUrl, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ER_DB_CREATE_EXISTS') throw error;
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  }
}
