import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where downloads and templates are kept for all checkouts of this project: in `XDG_CACHE_HOME`, or `~/.cache`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'ordersystem');
}
