/** The types of metadata on the wire (docs/KNOWLEDGE.md, Metadata). */
export type MetadataType = 'text' | 'number' | 'date' | 'list';
export type MetadataValue = string | number | readonly string[];

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?)?$/;

export function typeOf(value: unknown): MetadataType {
  if (typeof value === 'number') return 'number';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'string' && DATE.test(value) ? 'date' : 'text';
}

export function isDate(text: string): boolean {
  return DATE.test(text) && !Number.isNaN(Date.parse(text));
}

export function metadataText(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

export const OPS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'exists'] as const;
export type Op = (typeof OPS)[number];

/** Filter operators for each metadata type. */
export const OPS_OF: Readonly<Record<MetadataType, readonly Op[]>> = {
  text: ['eq', 'ne', 'exists'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'exists'],
  date: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'exists'],
  list: ['contains', 'exists'],
};

export interface Condition {
  readonly key: string;
  readonly op: Op;
  readonly value: string | number | boolean;
}

/** Converts conditions, all of which must match, to the service's format; undefined for none. */
export function filterOf(conditions: readonly Condition[]): object | undefined {
  return conditions.length === 0 ? undefined : { and: conditions };
}

/** Parses the filter in a URL; a filter in another format, such as one typed by hand, is ignored. */
export function conditionsOf(text: string | undefined): readonly Condition[] {
  try {
    const filter = JSON.parse(text ?? '') as { readonly and?: readonly Condition[] };
    const conditions = filter.and ?? [];
    return conditions.filter(({ key, op }) => typeof key === 'string' && OPS.includes(op));
  } catch {
    return [];
  }
}
