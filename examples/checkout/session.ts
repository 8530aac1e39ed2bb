import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** Who a browser is: a cookie that holds the user's id, signed, so that nobody makes himself another user. */
export class Sessions {
  readonly #secret: string | Buffer;

  /** @param secret the same for all gateways of a shop. Default: a new one, so that sessions end with the gateway. */
  constructor(secret: string | Buffer = randomBytes(32)) {
    this.#secret = secret;
  }

  /** The user's id. Undefined: nobody is signed in. */
  userOf(cookies: string | null | undefined): string | undefined {
    const [, user, signature] = /(?:^|; )session=(\d+)\.([\w-]+)(?:;|$)/.exec(cookies ?? '') ?? [];
    if (user === undefined) return undefined;
    const [given, right] = [Buffer.from(signature!), Buffer.from(this.#sign(user))];
    return given.length === right.length && timingSafeEqual(given, right) ? user : undefined;
  }

  /** The `set-cookie` of somebody new. A real shop would ask him who he is. */
  start(): string {
    const user = String(randomInt(1, 2 ** 47));
    // Lax: a page of another site cannot order with it.
    return `session=${user}.${this.#sign(user)}; Path=/; HttpOnly; SameSite=Lax`;
  }

  #sign(user: string): string {
    return createHmac('sha256', this.#secret).update(user).digest('base64url');
  }
}
