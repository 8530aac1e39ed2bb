import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConfigError } from './config.ts';
import type { Logger } from './logger.ts';

/** A file, and the variable that names it, for errors. */
export interface NamedFile {
  readonly variable: string;
  readonly path: string;
}

/** The file that a variable names; undefined when it is not set. */
export function nameFile<V extends string>(variable: V, config: Record<V, string | null>): NamedFile | undefined {
  const path = config[variable];
  return path === null ? undefined : { variable, path };
}

/** Which files to watch, and what they are read for. */
export interface WatchOptions<K extends string, T> {
  files: Partial<Record<K, NamedFile>>;
  /** Makes the value of the files' contents. Throws when they are no good; its message must hold nothing secret. */
  parse: (contents: Partial<Record<K, Buffer>>) => T;
  logger: Logger;
  /** Milliseconds between two looks. Default 1,000. */
  intervalMs?: number;
}

/**
 * What some files say, read again when they change. Files that are missing or no good later on leave the value as it was, which is
 * logged once for each such change. The contents are compared, not times or inodes: so a file that is replaced, and a link that is turned to another folder
 * (as Kubernetes does with secrets), are seen alike. The watching keeps no process alive.
 */
export class WatchedFiles<T, K extends string = string> {
  readonly #options: WatchOptions<K, T>;
  readonly #files: [K, NamedFile][];
  readonly #timer: NodeJS.Timeout;
  readonly #listeners: ((value: T) => void)[] = [];
  #bytes: Buffer;
  #value: T;
  #failure: string | undefined;
  #looking = false;

  /** Reads the files, and starts to watch. Throws ConfigError when they cannot be read, or are no good. */
  constructor(options: WatchOptions<K, T>) {
    this.#options = options;
    this.#files = Object.entries(options.files).filter(([, file]) => file !== undefined) as [K, NamedFile][];
    try {
      const contents = this.#files.map(([, { path }]) => readFileSync(path));
      this.#bytes = Buffer.concat(contents);
      this.#value = this.#parse(contents);
    } catch (error) {
      throw new ConfigError(`wrong configuration:\n  ${this.#explain(error)}`);
    }
    this.#timer = setInterval(() => void this.#look(), options.intervalMs ?? 1000).unref();
  }

  /** What the files say. */
  current(): T {
    return this.#value;
  }

  /** Calls the listener with each new value. */
  onChange(listener: (value: T) => void): void {
    this.#listeners.push(listener);
  }

  /** Ends the watching. */
  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const { logger } = this.#options;
    const variables = this.#files.map(([, { variable }]) => variable);
    try {
      const contents = await Promise.all(this.#files.map(([, { path }]) => readFile(path)));
      this.#failure = undefined;
      const bytes = Buffer.concat(contents);
      if (bytes.equals(this.#bytes)) return;
      // First: what is no good is tried, and complained about, once.
      this.#bytes = bytes;
      this.#value = this.#parse(contents);
      for (const listener of this.#listeners) listener(this.#value);
      logger.info({ variables }, 'changed files are in use');
    } catch (error) {
      const failure = this.#explain(error);
      if (failure !== this.#failure)
        logger.error({ variables, failure }, 'changed files are no good: the old ones stay in use');
      this.#failure = failure;
    } finally {
      this.#looking = false;
    }
  }

  #parse(contents: Buffer[]): T {
    const byName = Object.fromEntries(this.#files.map(([name], index) => [name, contents[index]]));
    return this.#options.parse(byName as Partial<Record<K, Buffer>>);
  }

  #explain(error: unknown): string {
    const { code, path, message } = error as NodeJS.ErrnoException;
    const variables = this.#files.filter(([, file]) => path === undefined || file.path === path);
    const names = variables.map(([, { variable }]) => variable).join(', ');
    return `${names}: ${path === undefined ? message : `cannot be read (${code})`}`;
  }
}
