import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { orderedHits } from '../ordered-hits.js';
import { VectorMemory, isSameState, joined } from './vector-memory.js';
import type { SetVectors, VectorSet } from './vector-memory.js';

const DIMENSION = 3;
const set: VectorSet = { tenantId: '000000', knowledgeId: 1, dimension: DIMENSION };
const query = { vector: Float32Array.of(0.6, 0, 0.8), limit: 5, threshold: 0 };
const limitBytes = 1_000_000;

interface Row {
  readonly stamp: number;
  readonly vector: Float32Array;
}

type Rows = Map<number, Row>;

function vectorsOf(rows: Rows, ids: readonly number[] = [...rows.keys()]): SetVectors {
  const wanted = ids.flatMap((id) => rows.get(id) ?? []);
  return {
    fragmentIds: Float64Array.from(ids),
    stamps: Float64Array.from(wanted, ({ stamp }) => stamp),
    vectors: Float32Array.from(wanted.flatMap(({ vector }) => [...vector])),
  };
}

/** What the store does when the rows have changed. */
function refresh(memory: VectorMemory, rows: Rows, of: VectorSet = set, limit = limitBytes): void {
  const list = vectorsOf(rows);
  const added = vectorsOf(rows, memory.missing({ set: of, list }));
  memory.update({ set: of, query, list, added, count: rows.size, limitBytes: limit });
}

const number = fc.float({ min: -1, max: 1, noNaN: true });
const vector = fc.tuple(number, number, number).map((three) => Float32Array.from(three));
const row = fc.record({ stamp: fc.maxSafeNat().map((stamp) => stamp % 2 ** 48), vector });
const someRows = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 30 }), row), { maxLength: 25 })
  .map((entries): Rows => new Map(entries));

describe('VectorMemory', () => {
  it('finds what comparing every row finds, through any changes of the rows', () => {
    fc.assert(
      fc.property(
        fc.array(someRows, { minLength: 1, maxLength: 6 }),
        vector,
        fc.integer({ min: 0, max: 30 }),
        (versions, asked, limit) => {
          const memory = new VectorMemory();
          const search = { vector: asked, limit, threshold: 0 };
          for (const rows of versions) {
            refresh(memory, rows);
            const { state, hits } = memory.search({ set, query: search });
            const all = [...rows].map(([fragmentId, one]) => ({
              fragmentId,
              score: one.vector.reduce((sum, part, at) => sum + (asked[at] ?? 0) * part, 0),
            }));
            expect(hits).toEqual(orderedHits(all, search));
            const stamps = [...rows.values()].map(({ stamp }) => stamp).reduce(joined, 0);
            expect(isSameState(state, { count: rows.size, stamps })).toBe(true);
          }
        },
      ),
    );
  });

  it('says that it holds nothing of a set it has never seen', () => {
    const answer = new VectorMemory().search({ set, query });
    expect(answer).toEqual({ state: { count: 0, stamps: 0 }, hits: [] });
  });

  it('drops the set that was not searched for the longest time when room is short', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([[1, { stamp: 5, vector: query.vector }]]);
    const sets = [1, 2, 3].map((knowledgeId) => ({ ...set, knowledgeId }));
    const [first = set, second = set, third = set] = sets;
    // One vector and the room beside it.
    const each = (1 + 3) * DIMENSION * 4;
    refresh(memory, rows, first, 2 * each);
    refresh(memory, rows, second, 2 * each);
    memory.search({ set: first, query });
    refresh(memory, rows, third, 2 * each);
    const held = sets.map((one) => memory.search({ set: one, query }).state.count);

    expect(held).toEqual([1, 0, 1]);
  });

  it('does not answer from a set of which a part was dropped meanwhile', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([
      [1, { stamp: 5, vector: query.vector }],
      [2, { stamp: 6, vector: query.vector }],
    ]);
    const list = vectorsOf(rows);
    // The second alone was missing when it was asked, but now the first one is, too.
    const task = { set, query, list, added: vectorsOf(rows, [2]), count: 2, limitBytes };

    expect(memory.update(task)).toBeUndefined();
    refresh(memory, rows);
    expect(memory.search({ set, query }).hits).toHaveLength(2);
  });

  it('forgets a base in every dimension, or all of a tenant', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([[1, { stamp: 5, vector: query.vector }]]);
    const other = { ...set, knowledgeId: 2 };
    const foreign = { ...set, tenantId: '300009' };
    const count = (of: VectorSet): number => memory.search({ set: of, query }).state.count;
    for (const one of [set, other, foreign]) refresh(memory, rows, one);

    memory.forget({ tenantId: '000000', knowledgeId: 1 });
    expect([set, other, foreign].map(count)).toEqual([0, 1, 1]);
    memory.forget({ tenantId: '000000' });
    expect([set, other, foreign].map(count)).toEqual([0, 0, 1]);
  });
});

describe('joined', () => {
  it('is the exclusive or of numbers of 48 bits', () => {
    const bits = fc.maxSafeNat().map((value) => value % 2 ** 48);
    fc.assert(
      fc.property(bits, bits, (a, b) => {
        expect(joined(a, b)).toBe(Number(BigInt(a) ^ BigInt(b)));
      }),
    );
  });
});
