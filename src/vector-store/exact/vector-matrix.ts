import { orderedHits } from '../ordered-hits.js';
import type { VectorHit, VectorQuery } from '../vector-store.js';
import { joined } from './vector-set.js';
import type { SetState } from './vector-set.js';

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
export class VectorMatrix {
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
    // Sorting numbers is fast, and the score of the last hit limits the vectors that need an object.
    const last = scores.toSorted()[Math.max(0, scores.length - query.limit)] ?? 0;
    const candidates: VectorHit[] = [];
    for (let place = 0; place < scores.length; place += 1) {
      const score = scores[place] ?? 0;
      if (score >= last) candidates.push({ fragmentId: this.fragmentIds[place] ?? 0, score });
    }
    return orderedHits(candidates, query);
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
