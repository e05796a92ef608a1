import type { JsonObject, JsonValue } from '../http/json.js';
import type { Behaviour } from './behaviour.js';
import { FLAGS, NAMES, NUMBERS, readBehaviour, UnknownBehaviour } from './vocabulary.js';

const PACED_DELAY_MS = 25;

/** The word in a model name is the member in lower case without its unit: `delayMs` is `delay`. */
const MEMBERS_BY_WORD = new Map(
  [...NUMBERS, ...FLAGS, ...NAMES].map((member) => [
    member.replace(/Ms$/, '').toLowerCase(),
    member,
  ]),
);

/**
 * Reads the behaviour out of a model name, so that it works through any gateway:
 * `sim--chunks-200--delay-20`. Names ending in `-paced` answer at a readable pace.
 */
export function behaviourOfModelName(model: string): Behaviour {
  // The local runtime appends a tag such as `:latest`.
  const name = model.replace(/:[\w.]+$/, '');
  const [base = '', ...words] = name.split('--');
  const json: JsonObject = {};
  if (base.endsWith('-paced') || name.endsWith('-paced')) json['delayMs'] = PACED_DELAY_MS;
  for (const word of words) readWord(json, word.replace(/-paced$/, ''));
  return readBehaviour(json);
}

function readWord(json: JsonObject, word: string): void {
  const dash = word.indexOf('-');
  const member = MEMBERS_BY_WORD.get((dash < 0 ? word : word.slice(0, dash)).toLowerCase());
  if (member === undefined) throw new UnknownBehaviour(`Unknown behaviour in name: ${word}`);
  json[member] = valueOfWord(member, dash < 0 ? undefined : word.slice(dash + 1));
}

function valueOfWord(member: string, value: string | undefined): JsonValue {
  if (FLAGS.some((flag) => flag === member) && value === undefined) return true;
  if (NAMES.some((name) => name === member) && value) return value;
  if (value !== undefined && /^\d+$/.test(value)) return Number(value);
  throw new UnknownBehaviour(`Behaviour ${member} has a wrong value in the model name`);
}
