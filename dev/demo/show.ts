import { styleText } from 'node:util';
import type { SceneResult } from './scene.ts';

const nameWidth = 47;

/** One line for a scene, and one more for each thing that was wrong. */
export function sceneLines(number: number, result: SceneResult): string[] {
  const { name, requests, orders, stockBefore, stockAfter, ok, wrong } = result;
  const counts = `${String(requests).padStart(2)} requests → ${orders} ${orders === 1 ? 'order ' : 'orders'}`;
  const stock = `stock ${stockBefore} → ${stockAfter}`.padEnd(16);
  const verdict = ok ? styleText('green', 'ok') : styleText('red', 'WRONG');
  return [
    `${number}  ${name.padEnd(nameWidth)}${counts}   ${stock}  ${verdict}`,
    ...wrong.map((reason) => `   ${reason}`),
  ];
}

/** What the demo comes to. */
export function closingLines(results: readonly SceneResult[], brokenRules: readonly string[]): string[] {
  const wrong = results.filter((result) => !result.ok).length;
  const kept = wrong === 0 && brokenRules.length === 0;
  const broken = `a promise was broken: ${wrong} of ${results.length} scenes wrong`;
  return [
    `audit of both databases: ${brokenRules.length === 0 ? 'no' : brokenRules.length} broken rules`,
    ...brokenRules.map((rule) => `   ${rule}`),
    kept ? styleText('green', 'every promise kept') : styleText('red', broken),
  ];
}
