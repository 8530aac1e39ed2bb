import { commonError } from './errors.ts';

/** Gathers what is wrong with a request, so that one answer names every wrong field. */
export class FieldViolations {
  readonly #violations: { field: string; description: string }[] = [];

  /** How many were noted. */
  get size(): number {
    return this.#violations.length;
  }

  /** Notes a wrong field. `field` is its path in the request: `items[2].quantity`. */
  add(field: string, description: string): void {
    this.#violations.push({ field, description });
  }

  /** Notes the field unless `min` ≤ value ≤ `max`. */
  range(field: string, value: bigint, min: bigint, max: bigint): void {
    if (value < min || value > max) this.add(field, `must be ${min} to ${max}, was ${value}`);
  }

  /** Notes the field unless the list has `min` to `max` entries. False when it has too many to look at. */
  count(field: string, list: readonly unknown[], min: number, max: number): boolean {
    if (list.length < min || list.length > max) {
      this.add(field, `must have ${min} to ${max} entries, had ${list.length}`);
    }
    return list.length <= max;
  }

  /** Notes the field unless the text matches. `description` says the rule; the text itself is not repeated. */
  match(field: string, text: string, pattern: RegExp, description: string): void {
    if (!pattern.test(text)) this.add(field, description);
  }

  /** Throws INVALID_ARGUMENT `INVALID_REQUEST` with BadRequest when anything was noted. */
  throwIfAny(): void {
    const [first] = this.#violations;
    if (!first) return;
    const more = this.#violations.length > 1 ? ` (and ${this.#violations.length - 1} more)` : '';
    throw commonError('INVALID_REQUEST', `${first.field}: ${first.description}${more}`, {
      fieldViolations: this.#violations,
    });
  }
}
