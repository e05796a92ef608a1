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

/** The largest accepted index or count of tokens; a sum of some still fits where they are stored. */
const MAX_NUMBER = 500_000_000;

/** A whole number, as counts and indexes are. Some gateways answer fractions or nonsense, which say nothing. */
export function wholeNumberIn(record: JsonRecord | undefined, field: string): number | undefined {
  const value = record?.[field];
  const isCount = typeof value === 'number' && Number.isInteger(value);
  return isCount && value >= 0 && value <= MAX_NUMBER ? value : undefined;
}

/** The first object of a list. */
export function firstRecordIn(record: JsonRecord, field: string): JsonRecord | undefined {
  const value = record[field];
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isRecord(first) ? first : undefined;
}

/** The objects of a list; other entries are skipped. */
export function recordsIn(record: JsonRecord, field: string): readonly JsonRecord[] {
  const value = record[field];
  return Array.isArray(value) ? value.filter((item) => isRecord(item)) : [];
}
