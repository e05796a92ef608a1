import type { VectorHit, VectorQuery } from '../vector-store.js';
import { VectorMatrix } from './vector-matrix.js';
import type { SetList, SetVectors } from './vector-matrix.js';
import type { SetState, VectorSet } from './vector-set.js';

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
