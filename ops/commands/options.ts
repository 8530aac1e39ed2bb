import { InvalidArgumentError, Option } from 'commander';

export function limitOption(fallback: number): Option {
  return new Option('--limit <n>', 'at most so many').default(fallback).argParser((text) => wholeNumber(text, 100_000));
}

/** A whole number from 1 to `max`. */
export function wholeNumber(text: string, max: number): number {
  if (!/^\d{1,15}$/.test(text) || Number(text) < 1 || Number(text) > max)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  return Number(text);
}

const unitsMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `30m`, `24h`, `7d`: milliseconds. */
export function durationMs(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new InvalidArgumentError('It must be a duration such as 90s, 30m, 24h or 7d.');
  return Number(count) * unitsMs[unit]!;
}

/** A moment in ISO 8601, with its time zone, or so long ago: milliseconds since 1970. */
export function timeMs(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() - durationMs(text);
  const isWhole = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const time = isWhole ? Date.parse(text) : NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError(
      'It must be a time such as 2026-11-30 or 2026-11-30T08:00Z, or a duration such as 24h.',
    );
  return time;
}
