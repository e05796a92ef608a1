import type { VectorHit, VectorQuery } from '../vector-store.js';

/** The result of a search from its candidates, as VectorQuery and VectorStore.search define it. */
export function orderedHits(
  candidates: readonly VectorHit[],
  { limit }: Pick<VectorQuery, 'limit'>,
): VectorHit[] {
  return (
    candidates
      // Rounding can make the product of two unit vectors slightly greater than 1.
      .map(({ fragmentId, score }) => ({ fragmentId, score: Math.min(1, Math.max(-1, score)) }))
      .sort((a, b) => b.score - a.score || a.fragmentId - b.fragmentId)
      .slice(0, limit)
  );
}

/** The vectors of one dimension of one knowledge base: the unit that is cached and searched. */
export interface VectorSet {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly dimension: number;
}

/** Bits of the random stamp that every write gives to a row. */
export const STAMP_BITS = 48;

/** The vectors of a set: ids and stamps at the same index. */
export interface SetList {
  readonly fragmentIds: Float64Array;
  readonly stamps: Float64Array;
}

export interface SetVectors extends SetList {
  /** Concatenated. */
  readonly vectors: Float32Array;
}

/** Vectors that are compared at a time. */
const BLOCK = 8;

/** The vectors of one set in memory, concatenated in any order. */
class VectorMatrix {
  private readonly places = new Map<number, number>();
  private fragmentIds: number[] = [];
  private stamps: number[] = [];
  private numbers = new Float32Array(0);

  constructor(private readonly dimension: number) {}

  get byteSize(): number {
    return this.numbers.byteLength;
  }

  get count(): number {
    return this.fragmentIds.length;
  }

  has(fragmentId: number, stamp: number): boolean {
    const place = this.places.get(fragmentId);
    return place !== undefined && this.stamps[place] === stamp;
  }

  /** Drops every vector that is not in the list with the same stamp. */
  retain({ fragmentIds, stamps }: SetList): void {
    const wanted = new Map<number, number>();
    for (const [at, fragmentId] of fragmentIds.entries()) wanted.set(fragmentId, stamps[at] ?? -1);
    for (const fragmentId of [...this.places.keys()]) {
      if (!this.has(fragmentId, wanted.get(fragmentId) ?? -1)) this.drop(fragmentId);
    }
  }

  put({ fragmentIds, stamps, vectors }: SetVectors): void {
    const size = this.dimension;
    this.reserve(this.fragmentIds.length + fragmentIds.length);
    for (const [at, fragmentId] of fragmentIds.entries()) {
      const place = this.places.get(fragmentId) ?? this.fragmentIds.length;
      this.places.set(fragmentId, place);
      this.fragmentIds[place] = fragmentId;
      this.stamps[place] = stamps[at] ?? -1;
      this.numbers.set(vectors.subarray(at * size, (at + 1) * size), place * size);
    }
  }

  nearest(query: VectorQuery): VectorHit[] {
    if (query.limit < 1) return [];
    const scores = this.scores(query.vector);
    if (query.fragmentIds) return orderedHits(this.hitsOf(query.fragmentIds, scores), query);
    // The score of the last hit limits the vectors that need an object.
    const last = highest(scores, query.limit);
    const candidates: VectorHit[] = [];
    for (let place = 0; place < scores.length; place += 1) {
      const score = scores[place] ?? 0;
      if (score >= last) candidates.push({ fragmentId: this.fragmentIds[place] ?? 0, score });
    }
    return orderedHits(candidates, query);
  }

  private hitsOf(fragmentIds: readonly number[], scores: Float64Array): VectorHit[] {
    return [...new Set(fragmentIds)].flatMap((fragmentId) => {
      const place = this.places.get(fragmentId);
      return place === undefined ? [] : [{ fragmentId, score: scores[place] ?? 0 }];
    });
  }

  /**
   * The scalar products, eight vectors at a time and in double precision: the fastest way without SIMD, each sum in the
   * order of its numbers (docs/decisions/0007).
   */
  private scores(vector: Float32Array): Float64Array {
    const { numbers, dimension } = this;
    const count = this.fragmentIds.length;
    const scores = new Float64Array(Math.ceil(count / BLOCK) * BLOCK);
    // Converted once, not once for each vector.
    const factors = Float64Array.from(vector);
    for (let row = 0; row < count; row += BLOCK) {
      const first = row * dimension;
      const second = first + dimension;
      const third = second + dimension;
      const fourth = third + dimension;
      const fifth = fourth + dimension;
      const sixth = fifth + dimension;
      const seventh = sixth + dimension;
      const eighth = seventh + dimension;
      let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
      for (let at = 0; at < dimension; at += 1) {
        const factor = factors[at] ?? 0;
        a += factor * (numbers[first + at] ?? 0);
        b += factor * (numbers[second + at] ?? 0);
        c += factor * (numbers[third + at] ?? 0);
        d += factor * (numbers[fourth + at] ?? 0);
        e += factor * (numbers[fifth + at] ?? 0);
        f += factor * (numbers[sixth + at] ?? 0);
        g += factor * (numbers[seventh + at] ?? 0);
        h += factor * (numbers[eighth + at] ?? 0);
      }
      scores.set([a, b, c, d, e, f, g, h], row);
    }
    return scores.subarray(0, count);
  }

  /** Moves the last vector to the place of the dropped one. */
  private drop(fragmentId: number): void {
    const place = this.places.get(fragmentId);
    const lastId = this.fragmentIds.pop();
    const lastStamp = this.stamps.pop();
    this.places.delete(fragmentId);
    if (place === undefined || lastId === undefined || lastId === fragmentId) return;
    const [size, last] = [this.dimension, this.fragmentIds.length];
    this.numbers.copyWithin(place * size, last * size, (last + 1) * size);
    this.fragmentIds[place] = lastId;
    this.stamps[place] = lastStamp ?? -1;
    this.places.set(lastId, place);
  }

  /** Capacity for the rest of a block, so that blocks never exceed the buffer. */
  private reserve(count: number): void {
    const needed = (count + BLOCK - 1) * this.dimension;
    if (needed <= this.numbers.length) return;
    const larger = new Float32Array(Math.max(needed, Math.ceil(this.byteSize / 4) * 1.25));
    larger.set(this.numbers);
    this.numbers = larger;
  }
}

/** The lowest of the `count` highest numbers; -Infinity if there are fewer. */
function highest(numbers: Float64Array, count: number): number {
  if (count < 1 || numbers.length < count) return -Infinity;
  // Ascending.
  const best = new Float64Array(count).fill(-Infinity);
  for (const number of numbers) {
    if (number <= (best[0] ?? 0)) continue;
    let place = 0;
    for (let end = count; place < end;) {
      const middle = (place + end) >> 1;
      if ((best[middle] ?? 0) < number) place = middle + 1;
      else end = middle;
    }
    best.copyWithin(0, 1, place);
    best[place - 1] = number;
  }
  return best[0] ?? -Infinity;
}

export interface SearchTask {
  readonly set: VectorSet;
  readonly query: VectorQuery;
}

export interface SearchAnswer {
  /** Revision of the rows that the searched set was read from. */
  readonly revision: string;
  readonly hits: VectorHit[];
}

export interface MissingTask {
  readonly set: VectorSet;
  readonly list: SetList;
}

export interface UpdateTask extends SearchTask {
  /** Revision of the rows, read before the list. */
  readonly revision: string;
  /** The whole list of the set. */
  readonly list: SetList;
  /** The vectors that were missing, without removed ones. */
  readonly added: SetVectors;
  /** The expected number of vectors. */
  readonly count: number;
  readonly limitBytes: number;
}

export interface ForgetTask {
  readonly tenantId: string;
  /** All sets of the tenant when omitted. */
  readonly knowledgeId?: number;
}

/** The revision of a set of which a part is missing: that of no rows. */
const INCOMPLETE = 'incomplete';

interface CachedSet {
  readonly set: VectorSet;
  readonly matrix: VectorMatrix;
  readonly revision: string;
}

/** The cached sets; the least recently searched one is evicted first. */
export class VectorMemory {
  /** Cached sets in order of use, the most recent last. */
  private readonly cachedSets = new Map<string, CachedSet>();

  /** Searches a cached set; undefined if it is not in memory. */
  search({ set, query }: SearchTask): SearchAnswer | undefined {
    const cachedSet = this.use(set);
    return cachedSet && { revision: cachedSet.revision, hits: cachedSet.matrix.nearest(query) };
  }

  /** Ids of the list that are not in memory with the same stamp. */
  missing({ set, list }: MissingTask): number[] {
    const matrix = this.use(set)?.matrix;
    const { fragmentIds, stamps } = list;
    const ids = [...fragmentIds];
    return matrix ? ids.filter((id, at) => !matrix.has(id, stamps[at] ?? -1)) : ids;
  }

  /** Updates the set and searches it; undefined when other vectors of it were evicted meanwhile. */
  update(task: UpdateTask): VectorHit[] | undefined {
    const { set, query, revision, list, added, count, limitBytes } = task;
    const matrix = this.use(set)?.matrix ?? new VectorMatrix(set.dimension);
    matrix.retain(list);
    matrix.put(added);
    const isComplete = matrix.count === count;
    this.cachedSets.set(keyOf(set), { set, matrix, revision: isComplete ? revision : INCOMPLETE });
    this.dropOldest(limitBytes);
    return isComplete ? matrix.nearest(query) : undefined;
  }

  forget({ tenantId, knowledgeId }: ForgetTask): void {
    for (const [key, { set }] of this.cachedSets) {
      if (set.tenantId !== tenantId) continue;
      if (knowledgeId === undefined || set.knowledgeId === knowledgeId) this.cachedSets.delete(key);
    }
  }

  private use(set: VectorSet): CachedSet | undefined {
    const key = keyOf(set);
    const cachedSet = this.cachedSets.get(key);
    if (!cachedSet) return undefined;
    this.cachedSets.delete(key);
    this.cachedSets.set(key, cachedSet);
    return cachedSet;
  }

  private dropOldest(limitBytes: number): void {
    let bytes = 0;
    for (const { matrix } of this.cachedSets.values()) bytes += matrix.byteSize;
    for (const [key, { matrix }] of this.cachedSets) {
      if (bytes <= limitBytes || this.cachedSets.size === 1) return;
      this.cachedSets.delete(key);
      bytes -= matrix.byteSize;
    }
  }
}

export function keyOf({ tenantId, knowledgeId, dimension }: VectorSet): string {
  return `${tenantId}/${knowledgeId}/${dimension}`;
}
