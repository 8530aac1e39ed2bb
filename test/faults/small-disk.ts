import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NotHereError } from '../../dev/database/server-program.ts';

const run = promisify(execFile);
const ROOM = '2g';

// Its input ends with the test's process, even when that is killed. Lazily: whoever used it last may not have let go of it yet.
const keeper = 'trap "" INT TERM; read -r _; umount -l "$1" && rmdir "$1"';

/** A file system of the test's own, which can be full, and ends with the test. It is in memory, and takes as much as is in it. */
export class SmallDisk {
  /** Where it is. */
  readonly folder: string;
  readonly #keeper: ChildProcess;

  private constructor(folder: string) {
    this.folder = folder;
    this.#keeper = spawn('/bin/sh', ['-c', keeper, 'sh', folder], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
  }

  /** @throws NotHereError where nobody may mount one. */
  static async mount(): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), 'ordersystem-disk-'));
    await run('mount', ['-t', 'tmpfs', '-o', `size=${ROOM}`, 'tmpfs', folder]).catch(async (cause: unknown) => {
      await rmdir(folder);
      throw new NotHereError('a disk of its own needs Linux and root', { cause });
    });
    return new SmallDisk(folder);
  }

  /** From now on there is room for what is there, and for nothing else. */
  async fill(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { blocks, bfree, bsize } = await statfs(this.folder);
      try {
        return await this.#resize(String((blocks - bfree) * bsize));
      } catch (error) {
        // What was written meanwhile would have had no room.
        if (attempt === 10) throw error;
      }
    }
  }

  /** There is room again. */
  free(): Promise<void> {
    return this.#resize(ROOM);
  }

  async unmount(): Promise<void> {
    this.#keeper.stdin!.end();
    const [status] = (await once(this.#keeper, 'exit')) as [number | null];
    if (status !== 0) throw new Error(`${this.folder} was not unmounted`);
  }

  async #resize(size: string): Promise<void> {
    await run('mount', ['-o', `remount,size=${size}`, this.folder]);
  }
}
