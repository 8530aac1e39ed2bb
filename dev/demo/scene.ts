import { type Expected, wrongNumbers } from './check-numbers.ts';
import type { Shop } from './shop.ts';
import { type Product, Stage } from './stage.ts';

/** Something that happens to a purchase, and what must come of it. Each scene has a product to itself. */
export interface Scene {
  readonly name: string;
  readonly product: Product;
  readonly play: (stage: Stage) => Promise<void>;
  readonly expected: Expected;
}

export interface SceneResult {
  readonly name: string;
  /** CreateOrder calls that callers made. */
  readonly requests: number;
  readonly orders: number;
  readonly stockBefore: number;
  readonly stockAfter: number;
  readonly ok: boolean;
  /** What was wrong; empty when ok. */
  readonly wrong: readonly string[];
}

/** Plays a scene, then reads both databases and compares. */
export async function playScene(scene: Scene, shop: Shop, print: (line: string) => void): Promise<SceneResult> {
  const stage = new Stage(shop, scene.product, print);
  const stockBefore = await stage.available();
  await scene.play(stage);
  const numbers = { ...(await stage.numbers()), stockBefore };
  const wrong = [...stage.wrong, ...wrongNumbers(scene.expected, numbers)];
  const { orders, stockAfter } = numbers;
  const { requests } = stage;
  return { name: scene.name, requests, orders, stockBefore, stockAfter, ok: wrong.length === 0, wrong };
}
