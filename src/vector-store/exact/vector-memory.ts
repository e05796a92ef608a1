import { orderedHits } from '../ordered-hits.js';
import type { VectorHit, VectorQuery } from '../vector-store.js';

/** The vectors of one dimension of one knowledge base: the unit that is cached and searched. */
export interface VectorSet {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly dimension: number;
}

/**
 * A digest of the content of a set: the exclusive or of the stamps of its vectors. Every write gives a row a new random
 * stamp of 48 bits, so two different sets of rows have the same digest with a probability of 2^-48.
 */
export interface SetState {
  readonly count: number;
  readonly stamps: number;
}

export const STAMP_BITS = 48;

export function isSameState(a: SetState, b: SetState): boolean {
  return a.count === b.count && a.stamps === b.stamps;
}

/** Exclusive or of 48-bit numbers; the operator works on 32 bits. */
export function joined(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 32) ^ Math.floor(b / 2 ** 32);
  return high * 2 ** 32 + ((a ^ b) >>> 0);
}

/** The vectors of a set: ids and stamps at the same index. */
export interface SetList {
  readonly fragmentIds: Float64Array;
  readonly stamps: Float64Array;
}

export interface SetVectors extends SetList {
  /** Concatenated. */
  readonly vectors: Float32Array;
}

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

  get state(): SetState {
    return { count: this.stamps.length, stamps: this.stamps.reduce(joined, 0) };
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
    const scores = this.scores(query.vector);
    if (query.fragmentIds) return orderedHits(this.hitsOf(query.fragmentIds, scores), query);
    // Sorting numbers is fast, and the score of the last hit limits the vectors that need an object.
    const last = scores.toSorted()[Math.max(0, scores.length - query.limit)] ?? 0;
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

  /** The scalar products, four vectors at a time: the fastest way without SIMD (docs/decisions/0007). */
  private scores(vector: Float32Array): Float64Array {
    const { numbers, dimension } = this;
    const count = this.fragmentIds.length;
    const scores = new Float64Array(Math.ceil(count / 4) * 4);
    for (let row = 0; row < count; row += 4) {
      const [start, second, third] = [row * dimension, dimension, 2 * dimension];
      const fourth = third + dimension;
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let at = 0; at < dimension; at += 1) {
        const factor = vector[at] ?? 0;
        const place = start + at;
        a += factor * (numbers[place] ?? 0);
        b += factor * (numbers[place + second] ?? 0);
        c += factor * (numbers[place + third] ?? 0);
        d += factor * (numbers[place + fourth] ?? 0);
      }
      scores[row] = a;
      scores[row + 1] = b;
      scores[row + 2] = c;
      scores[row + 3] = d;
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

  /** Capacity for three more, so that blocks of four never exceed the buffer. */
  private reserve(count: number): void {
    const needed = (count + 3) * this.dimension;
    if (needed <= this.numbers.length) return;
    const larger = new Float32Array(Math.max(needed, Math.ceil(this.byteSize / 4) * 1.25));
    larger.set(this.numbers);
    this.numbers = larger;
  }
}

export interface SearchTask {
  readonly set: VectorSet;
  readonly query: VectorQuery;
}

export interface SearchAnswer {
  /** The state of the searched set; absent when the set is not in memory. */
  readonly state: SetState;
  readonly hits: VectorHit[];
}

export interface MissingTask {
  readonly set: VectorSet;
  readonly list: SetList;
}

export interface UpdateTask extends SearchTask {
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

interface Held {
  readonly set: VectorSet;
  readonly matrix: VectorMatrix;
}

/** The cached sets; the least recently searched one is evicted first. */
export class VectorMemory {
  /** In the order of use, the most recent last. */
  private readonly held = new Map<string, Held>();

  search({ set, query }: SearchTask): SearchAnswer {
    const matrix = this.use(set);
    if (!matrix) return { state: { count: 0, stamps: 0 }, hits: [] };
    return { state: matrix.state, hits: matrix.nearest(query) };
  }

  /** Ids of the list that are not in memory with the same stamp. */
  missing({ set, list }: MissingTask): number[] {
    const matrix = this.use(set);
    const { fragmentIds, stamps } = list;
    const ids = [...fragmentIds];
    return matrix ? ids.filter((id, at) => !matrix.has(id, stamps[at] ?? -1)) : ids;
  }

  /** Updates the set and searches it; undefined when other vectors of it were evicted meanwhile. */
  update({ set, query, list, added, count, limitBytes }: UpdateTask): VectorHit[] | undefined {
    const matrix = this.use(set) ?? new VectorMatrix(set.dimension);
    matrix.retain(list);
    matrix.put(added);
    this.held.set(keyOf(set), { set, matrix });
    this.dropOldest(limitBytes);
    return matrix.state.count === count ? matrix.nearest(query) : undefined;
  }

  forget({ tenantId, knowledgeId }: ForgetTask): void {
    for (const [key, { set }] of this.held) {
      if (set.tenantId !== tenantId) continue;
      if (knowledgeId === undefined || set.knowledgeId === knowledgeId) this.held.delete(key);
    }
  }

  private use(set: VectorSet): VectorMatrix | undefined {
    const key = keyOf(set);
    const held = this.held.get(key);
    if (!held) return undefined;
    this.held.delete(key);
    this.held.set(key, held);
    return held.matrix;
  }

  private dropOldest(limitBytes: number): void {
    let bytes = 0;
    for (const { matrix } of this.held.values()) bytes += matrix.byteSize;
    for (const [key, { matrix }] of this.held) {
      if (bytes <= limitBytes || this.held.size === 1) return;
      this.held.delete(key);
      bytes -= matrix.byteSize;
    }
  }
}

export function keyOf({ tenantId, knowledgeId, dimension }: VectorSet): string {
  return `${tenantId}/${knowledgeId}/${dimension}`;
}
