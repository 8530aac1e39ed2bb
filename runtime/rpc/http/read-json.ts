import {
  type DescField,
  type DescMessage,
  fromJson,
  fromJsonString,
  type JsonValue,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf';
import { commonError } from '../errors.ts';
import { FieldViolations } from '../field-violations.ts';

// A number in the text that may have lost digits when it was read, or was never whole: 16 digits, a fraction or an exponent.
const DOUBTFUL_NUMBER = /[[:,\s]-?(?:\d{16}|\d+[.eE])/;
// What the library says of a key that stands twice in one object: JSON.parse has dropped the first by then.
const TWICE = /duplicate object key "(.*)"$/s;

// More would tell nobody more, and could be as many as fit in a request.
const MAX_VIOLATIONS = 20;

/**
 * The message that a JSON text is. Stricter than the binary format, because people write it by hand: a field that the contract does
 * not have is wrong (a misspelt client_request_id would be an order without protection), so is one that is given twice, and an
 * integer over 2^53 - 1 that is not in quotes, where most JSON writers have already lost digits.
 *
 * @throws INVALID_REQUEST that names every wrong field.
 */
export function readJson<D extends DescMessage>(desc: D, text: string): Message {
  let message: Message | undefined;
  let failure: unknown;
  try {
    message = fromJsonString(desc, text);
    if (!DOUBTFUL_NUMBER.test(text)) return message;
  } catch (cause) {
    failure = cause;
  }
  const violations = new FieldViolations();
  findWrong(desc, parse(text), '', violations);
  const [, twice] = TWICE.exec(failure instanceof Error ? failure.message : '') ?? [];
  if (twice !== undefined) violations.add(shown(twice), 'is given twice');
  violations.throwIfAny();
  if (message) return message;
  throw commonError('INVALID_REQUEST', `the JSON is not a ${desc.typeName}`, { cause: failure });
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw commonError('INVALID_REQUEST', 'the message is not JSON', { cause });
  }
}

/** Notes what is wrong with a message, by the names that the contract gives its fields. */
function findWrong(desc: DescMessage, json: JsonValue, path: string, violations: FieldViolations): void {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    if (path !== '') return violations.add(path.slice(0, -1), 'must be a JSON object');
    throw commonError('INVALID_REQUEST', 'the message must be a JSON object');
  }
  const seen = new Set<DescField>();
  for (const [key, value] of Object.entries(json)) {
    if (violations.size >= MAX_VIOLATIONS) return;
    const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
    const at = path + (field?.name ?? shown(key));
    if (!field) violations.add(at, `is no field of ${desc.name}`);
    else if (seen.has(field)) violations.add(at, 'is given twice');
    else if (field.fieldKind === 'message' && value !== null) findWrong(field.message, value, `${at}.`, violations);
    else if (field.fieldKind === 'list' && field.listKind === 'message' && Array.isArray(value)) {
      value.forEach((one, i) => findWrong(field.message, one, `${at}[${i}].`, violations));
    } else if (!canRead(desc, key, value)) violations.add(at, `is no ${kindOf(field)}`);
    else if ([value].flat().some(hasLostDigits)) {
      violations.add(at, 'is a number over 2^53 - 1: it must be in quotes, to keep its digits');
    }
    if (field) seen.add(field);
  }
}

function canRead(desc: DescMessage, key: string, value: JsonValue): boolean {
  try {
    fromJson(desc, { [key]: value });
    return true;
  } catch {
    return false;
  }
}

function hasLostDigits(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function kindOf(field: DescField): string {
  const kind = field.scalar ? ScalarType[field.scalar].toLowerCase() : (field.message ?? field.enum)?.name;
  return field.fieldKind === 'list' ? `list of ${kind}` : `${kind}`;
}

/** A name that the caller chose, cut to what can be said again. */
function shown(name: string): string {
  return name.slice(0, 64).toWellFormed();
}
