/**
 * 'full' keeps every committed transaction through a power cut, as in production; 'relaxed' loses the last ones in a
 * power cut (never in an ordinary stop) and is otherwise the same, only faster.
 */
export type Durability = 'full' | 'relaxed';

// `loose-` lets a server that does not know an option go on without it, so that one list serves MySQL and MariaDB.

const common = [
  '--character-set-server=utf8mb4',
  '--max-connections=500',
  '--skip-name-resolve',
  '--loose-mysqlx=OFF',
  '--loose-innodb-buffer-pool-load-at-startup=OFF',
];

const full = [
  '--innodb-flush-log-at-trx-commit=1',
  '--sync-binlog=1',
  '--log-bin=binlog',
  '--server-id=1',
  // Room for a benchmark: with little redo log the server stops to write pages.
  '--innodb-buffer-pool-size=512M',
  '--loose-innodb-redo-log-capacity=512M',
];

const relaxed = [
  '--skip-log-bin',
  '--innodb-doublewrite=OFF',
  '--innodb-flush-log-at-trx-commit=0',
  // No fsync at all.
  '--loose-innodb-flush-method=nosync',
  '--loose-debug-no-sync',
  '--loose-innodb-redo-log-capacity=64M',
];

/** The server's options that do not depend on where it runs, for both MySQL and MariaDB. */
export function serverOptions(durability: Durability): string[] {
  return [...common, ...(durability === 'full' ? full : relaxed)];
}

/** The options of a server that only this process, on this machine, may reach. Paths are relative to the data. */
export function privateOptions(port: number): string[] {
  return ['--bind-address=127.0.0.1', `--port=${port}`, '--socket=mysql.sock', '--pid-file=server.pid'];
}

/** A server started by root must be told that this is meant. */
export function userOptions(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}
