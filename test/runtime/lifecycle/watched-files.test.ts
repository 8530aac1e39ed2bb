import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { ConfigError } from '../../../runtime/lifecycle/config.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { WatchedFiles } from '../../../runtime/lifecycle/watched-files.ts';
import { until } from '../../support/expect.ts';

describe('WatchedFiles', () => {
  let dir: string;
  let lines: Record<string, unknown>[];
  let watched: WatchedFiles<string, 'left' | 'right'> | undefined;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'watched-'));
    lines = [];
    write('left', 'a');
    write('right', 'b');
  });
  afterEach(() => {
    watched?.close();
    rmSync(dir, { recursive: true });
  });

  /** As a whole: a look never sees half of it. */
  function write(name: string, text: string): void {
    writeFileSync(join(dir, 'new'), text);
    renameSync(join(dir, 'new'), join(dir, name));
  }
  const messages = () => lines.map((line) => line['message']);

  /** Watches two files whose value is both, one after the other. `!` in one is no good. */
  function watch(left = 'left'): WatchedFiles<string, 'left' | 'right'> {
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    return (watched = new WatchedFiles({
      files: {
        left: { variable: 'LEFT_FILE', path: join(dir, left) },
        right: { variable: 'RIGHT_FILE', path: join(dir, 'right') },
      },
      parse(contents) {
        const text = `${String(contents.left)}${String(contents.right)}`;
        if (text.includes('!')) throw new Error('must not shout');
        return text;
      },
      logger: pino({ messageKey: 'message' }, stream),
      intervalMs: 5,
    }));
  }

  /** Returns when a watch with the same interval has looked several times. */
  async function someLooks(): Promise<void> {
    write('clock', 'start');
    const clock = new WatchedFiles({
      files: { clock: { variable: 'CLOCK', path: join(dir, 'clock') } },
      parse: (contents) => String(contents.clock),
      logger: silentLogger,
      intervalMs: 5,
    });
    for (const tick of ['1', '2', '3']) {
      write('clock', tick);
      await until('the clock ticks', () => clock.current() === tick);
    }
    clock.close();
  }

  it('says what the files say, and tells the listeners when one changes', async () => {
    const heard: string[] = [];
    const files = watch();
    files.onChange((value) => heard.push(value));
    assert.equal(files.current(), 'ab');
    write('right', 'c');
    await until('the change is heard', () => heard.length > 0);
    assert.deepEqual([heard, files.current()], [['ac'], 'ac']);
    assert.deepEqual(messages(), ['changed files are in use']);
  });

  it('sees a link that is turned to another folder', async () => {
    for (const [folder, text] of Object.entries({ before: 'x', after: 'y' })) {
      mkdirSync(join(dir, folder));
      write(`${folder}/left`, text);
    }
    symlinkSync('before', join(dir, 'now'));
    const files = watch('now/left');
    symlinkSync('after', join(dir, 'next'));
    renameSync(join(dir, 'next'), join(dir, 'now'));
    await until('the other folder is read', () => files.current() === 'yb');
  });

  it('keeps the old value while a file is no good, and says so once', async () => {
    const files = watch();
    write('left', '!');
    await until('it is logged', () => lines.length > 0);
    await someLooks();
    assert.deepEqual([files.current(), lines.length], ['ab', 1]);
    assert.equal(lines[0]!['failure'], 'LEFT_FILE, RIGHT_FILE: must not shout');
    write('left', 'good ');
    await until('it is read', () => files.current() === 'good b');
  });

  it('keeps the old value while a file is missing, and names it', async () => {
    const files = watch();
    rmSync(join(dir, 'right'));
    await until('it is logged', () => lines.length > 0);
    await someLooks();
    assert.deepEqual([files.current(), lines.length], ['ab', 1]);
    assert.equal(lines[0]!['failure'], 'RIGHT_FILE: cannot be read (ENOENT)');
    write('right', 'back');
    await until('it is read', () => files.current() === 'aback');
  });

  it('fails at the start when a file is missing or no good, and names the variable, not the path', () => {
    write('left', '!');
    assert.throws(watch, new ConfigError('wrong configuration:\n  LEFT_FILE, RIGHT_FILE: must not shout'));
    rmSync(join(dir, 'left'));
    assert.throws(watch, new ConfigError('wrong configuration:\n  LEFT_FILE: cannot be read (ENOENT)'));
  });

  it('looks no more when it is closed', async () => {
    const files = watch();
    const other = watch();
    files.close();
    write('left', 'z');
    await until('the other sees it', () => other.current() === 'zb');
    assert.equal(files.current(), 'ab');
  });
});
