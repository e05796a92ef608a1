import fc from 'fast-check';

/** A filter as it is sent, for the evaluation below, which shares nothing with the service. */
export type SentFilter =
  | { readonly and: readonly SentFilter[] }
  | { readonly or: readonly SentFilter[] }
  | { readonly not: SentFilter }
  | { readonly key: string; readonly op: string; readonly value: unknown };

export type SentMetadata = Readonly<Record<string, string | number | readonly string[]>>;

const KEYS = ['author', 'year', 'issued', 'tags', 'and', 'Größe in cm', 'x.y-z_1'];
const TEXTS = ['Ann', 'ann', '', '数', '😀', 'a\nb\t"c"\\', `") || ($."year" > "`, "O'Brien", '7'];
const NUMBERS = [0, -1, 1, 1.5, 7, 2024, 1e21, 5e-7, -0.1, 123_456_789_012_345];
const DATES = [
  '2024-05-01',
  '2024-05-01T00:00:00Z',
  '2024-05-01T10:30:00.5+02:00',
  '2024-05-01 08:30',
  '1969-12-31',
];

const text = fc.constantFrom(...TEXTS);
const number = fc.constantFrom(...NUMBERS);
const date = fc.constantFrom(...DATES);
const scalar = fc.oneof(text, number, date);
const key = fc.constantFrom(...KEYS);

/** Keys have values of any type, so conditions meet values of other types, too. */
export const anyMetadata: fc.Arbitrary<SentMetadata> = fc
  .uniqueArray(fc.tuple(key, fc.oneof(scalar, fc.array(text, { maxLength: 3 }))), {
    selector: ([name]) => name,
    maxLength: 5,
  })
  .map((entries) => Object.fromEntries(entries));

const condition: fc.Arbitrary<SentFilter> = fc.oneof(
  fc.record({ key, op: fc.constantFrom('eq', 'ne'), value: scalar }),
  fc.record({
    key,
    op: fc.constantFrom('in', 'nin'),
    value: fc.array(scalar, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ key, op: fc.constantFrom('gt', 'gte', 'lt', 'lte'), value: fc.oneof(number, date) }),
  fc.record({ key, op: fc.constant('contains'), value: text }),
  fc.record({ key, op: fc.constant('exists'), value: fc.boolean() }),
);

function within(inner: fc.Arbitrary<SentFilter>): fc.Arbitrary<SentFilter> {
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    condition,
    fc.record({ and: some }),
    fc.record({ or: some }),
    fc.record({ not: inner }),
  );
}

export const anyFilter = within(within(within(condition)));

/** Whether a document with the metadata is meant. */
export function fits(filter: SentFilter, metadata: SentMetadata): boolean {
  if ('and' in filter) return filter.and.every((one) => fits(one, metadata));
  if ('or' in filter) return filter.or.some((one) => fits(one, metadata));
  if ('not' in filter) return !fits(filter.not, metadata);
  const value = metadata[filter.key];
  const asked = filter.value;
  switch (filter.op) {
    case 'eq':
      return isEqual(value, asked);
    case 'ne':
      return !isEqual(value, asked);
    case 'in':
      return (asked as unknown[]).some((one) => isEqual(value, one));
    case 'nin':
      return !(asked as unknown[]).some((one) => isEqual(value, one));
    case 'contains':
      return Array.isArray(value) && value.includes(asked);
    case 'exists':
      return (value !== undefined) === asked;
    default:
      return isInOrder(filter.op, value, asked);
  }
}

function isEqual(value: unknown, asked: unknown): boolean {
  const [one, other] = [typed(value), typed(asked)];
  return one.type !== 'other' && one.type === other.type && one.value === other.value;
}

function isInOrder(op: string, value: unknown, asked: unknown): boolean {
  const [one, other] = [typed(value), typed(asked)];
  if (one.type !== other.type || one.type === 'text' || one.type === 'other') return false;
  const [left, right] = [Number(one.value), Number(other.value)];
  if (op === 'gt') return left > right;
  if (op === 'gte') return left >= right;
  return op === 'lt' ? left < right : left <= right;
}

function typed(value: unknown): { readonly type: string; readonly value: unknown } {
  if (typeof value === 'number') return { type: 'number', value };
  if (typeof value !== 'string') return { type: 'other', value };
  if (!DATES.includes(value)) return { type: 'text', value };
  // JavaScript takes a time without an offset for a local one.
  const hasOffset = /^\d{4}-\d{2}-\d{2}$|Z$|[+-]\d{2}:\d{2}$/.test(value);
  return { type: 'date', value: Date.parse(hasOffset ? value : `${value}Z`) };
}
