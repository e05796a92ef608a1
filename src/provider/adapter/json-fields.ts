/**
 * Reads of single fields from parsed JSON, for streams, where a schema per event would cost more than
 * everything else. A field of another type counts as absent.
 */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function recordIn(record: JsonRecord, field: string): JsonRecord | undefined {
  const value = record[field];
  return isRecord(value) ? value : undefined;
}

export function textIn(record: JsonRecord, field: string): string | undefined {
  const value = record[field];
  return typeof value === 'string' ? value : undefined;
}

/** No index and no count of tokens is larger; a sum of some still fits where they are stored. */
const MOST = 500_000_000;

/** A whole number, as counts and indexes are. Some gateways answer fractions or nonsense, which say nothing. */
export function wholeNumberIn(record: JsonRecord | undefined, field: string): number | undefined {
  const value = record?.[field];
  const isCount = typeof value === 'number' && Number.isInteger(value);
  return isCount && value >= 0 && value <= MOST ? value : undefined;
}

/** The first object of a list. */
export function firstRecordIn(record: JsonRecord, field: string): JsonRecord | undefined {
  const value = record[field];
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isRecord(first) ? first : undefined;
}

/** The objects of a list; anything else in it is passed over. */
export function recordsIn(record: JsonRecord, field: string): readonly JsonRecord[] {
  const value = record[field];
  return Array.isArray(value) ? value.filter((item) => isRecord(item)) : [];
}

/** Names of places deeper than this, and longer ones, are cut: both are of what a service sends. */
const DEEPEST_PLACE = 8;
const LONGEST_NAME = 60;

/**
 * The texts in a value of parsed JSON, each with its place: the names that lead there. Elements of a list share a place, unless
 * their `index` tells them apart.
 */
export function* textsIn(
  value: unknown,
  place: string,
): Generator<[place: string, text: string], void> {
  const open: { readonly at: string; readonly depth: number; readonly one: unknown }[] = [
    { at: place, depth: 0, one: value },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, depth, one } = next;
    if (typeof one === 'string') yield [at, one];
    if (typeof one !== 'object' || one === null) continue;
    const isList = Array.isArray(one);
    // The last first, because the last one that is added is the next.
    for (const [name, inner] of Object.entries(one).reverse()) {
      const step = isList ? indexOf(inner) : name.slice(0, LONGEST_NAME);
      const isNamed = step !== '' && depth < DEEPEST_PLACE;
      open.push({ at: isNamed ? `${at} ${step}`.trimStart() : at, depth: depth + 1, one: inner });
    }
  }
}

function indexOf(element: unknown): string {
  const index = isRecord(element) ? wholeNumberIn(element, 'index') : undefined;
  return index === undefined ? '' : String(index);
}
