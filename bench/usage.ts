import { readdir, readFile } from 'node:fs/promises';

/** Which processes are watched: a name, and the ids of a process group or of one process. */
export interface Watched {
  readonly name: string;
  readonly pid: number;
}

/** What the processes have used so far; nothing on a machine without /proc. */
export interface Usage {
  /** Microseconds of CPU time. */
  readonly cpuUs: number;
  /** Bytes that are resident. */
  readonly rssBytes: number;
  /** Open files and sockets. */
  readonly handles: number;
}

const TICK_US = 10_000;
const PAGE_BYTES = 4096;

/** The usage of the process and of all others of the group that it leads. */
export async function usageOf({ pid }: Watched): Promise<Usage> {
  let cpuUs = 0;
  let rssBytes = 0;
  let handles = 0;
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => undefined);
    if (stat === undefined) continue;
    // Fields after the name in parentheses: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(entry) !== pid && Number(fields[2]) !== pid) continue;
    cpuUs += (Number(fields[11]) + Number(fields[12])) * TICK_US;
    rssBytes += Number(fields[21]) * PAGE_BYTES;
    handles += (await readdir(`/proc/${entry}/fd`).catch(() => [])).length;
  }
  return { cpuUs, rssBytes, handles };
}
