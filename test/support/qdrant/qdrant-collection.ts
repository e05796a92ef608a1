import type { Schemas } from '@qdrant/js-client-rest';
import type { z } from 'zod';
import type {
  CollectionSettings,
  facet,
  FieldIndex,
  Filter,
  Point,
  queryPoints,
  Marker,
  samplePoints,
  scrollPoints,
} from './qdrant-requests.js';

/** One collection in memory. It answers what the documentation of Qdrant 1.15 says, by looking at every point. */
export class QdrantCollection {
  readonly indexes: FieldIndex[] = [];
  private readonly points = new Map<number, Point>();
  marker: Marker | undefined;

  constructor(readonly settings: CollectionSettings) {}

  get size(): number {
    return this.points.size;
  }

  /** A message when a vector has another dimension than the collection. */
  upsert(points: readonly (Point | Marker)[]): string | undefined {
    const { size } = this.settings.vectors;
    const wrong = points.find(({ vector }) => vector.length !== size);
    if (wrong) return `Vector dimension error: expected dim: ${size}, got ${wrong.vector.length}`;
    for (const point of points) {
      if ('installation' in point.payload) this.marker = point as Marker;
      else this.points.set(point.id, { ...(point as Point), vector: unit(point.vector) });
    }
    return undefined;
  }

  remove(filter: Filter): void {
    for (const { id } of this.matching(filter)) this.points.delete(id);
  }

  count(filter: Filter): number {
    return this.matching(filter).length;
  }

  query({ query, filter, limit }: z.output<typeof queryPoints>): Schemas['ScoredPoint'][] {
    const vector = unit(query);
    return this.matching(filter)
      .map((point) => ({ id: point.id, version: 1, score: product(point.vector, vector) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, limit);
  }

  scroll({ filter, offset, limit }: z.output<typeof scrollPoints>): Schemas['ScrollResult'] {
    const rest = this.matching(filter)
      .map(({ id }) => id)
      .filter((id) => id >= offset)
      .sort((a, b) => a - b);
    const page = rest.slice(0, limit).map((id) => ({ id }));
    return { points: page, next_page_offset: rest[limit] ?? null };
  }

  sample({ offset, limit }: z.output<typeof samplePoints>): Schemas['ScrollResult'] {
    const page = [...this.points.values()]
      .filter(({ id }) => id >= offset)
      .sort((a, b) => a.id - b.id)
      .slice(0, limit);
    return { points: page.map(({ id, payload }) => ({ id, payload })), next_page_offset: null };
  }

  facet({ key, filter, limit }: z.output<typeof facet>): Schemas['FacetValueHit'][] {
    const groups = Map.groupBy(this.matching(filter), ({ payload }) => payload[key]);
    return [...groups]
      .map(([value, points]) => ({ value, count: points.length }))
      .sort((a, b) => b.count - a.count)
      .slice(0, limit);
  }

  /** Strict mode, as Qdrant Cloud has it: a field that is filtered by needs an index. */
  missingIndex(filter: Filter, key?: string): string | undefined {
    const keys = filter.must.flatMap((condition) => ('key' in condition ? [condition.key] : []));
    return [...keys, ...(key === undefined ? [] : [key])].find(
      (name) => !this.indexes.some(({ field_name }) => field_name === name),
    );
  }

  private matching({ must }: Filter): Point[] {
    return [...this.points.values()].filter((point) =>
      must.every((condition) => fits(point, condition)),
    );
  }
}

function fits({ id, payload }: Point, condition: Filter['must'][number]): boolean {
  if ('has_id' in condition) return condition.has_id.includes(id);
  const { key, match } = condition;
  const value = payload[key];
  return 'any' in match ? match.any.some((one) => one === value) : value === match.value;
}

/** Qdrant normalises the vectors of a collection with cosine distance. */
function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(product(vector, vector)) || 1;
  return vector.map((number) => number / length);
}

function product(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, number, at) => sum + number * (b[at] ?? 0), 0);
}
