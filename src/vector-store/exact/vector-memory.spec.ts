import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { orderedHits, VectorMemory } from './vector-memory.js';
import type { SetVectors, VectorSet } from './vector-memory.js';

const DIMENSION = 3;
const set: VectorSet = { tenantId: '000000', knowledgeId: 1, dimension: DIMENSION };
const query = { vector: Float32Array.of(0.6, 0, 0.8), limit: 5 };
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
function refresh(
  memory: VectorMemory,
  rows: Rows,
  { of = set, limit = limitBytes, revision = '1' } = {},
): void {
  const list = vectorsOf(rows);
  const added = vectorsOf(rows, memory.missing({ set: of, list }));
  const task = { set: of, query, revision, list, added, count: rows.size, limitBytes: limit };
  memory.update(task);
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
          const search = { vector: asked, limit };
          for (const [at, rows] of versions.entries()) {
            refresh(memory, rows, { revision: String(at) });
            const answer = memory.search({ set, query: search });
            const all = [...rows].map(([fragmentId, one]) => ({
              fragmentId,
              score: one.vector.reduce((sum, part, at) => sum + (asked[at] ?? 0) * part, 0),
            }));
            expect(answer).toEqual({ revision: String(at), hits: orderedHits(all, search) });
          }
        },
      ),
    );
  });

  it('says that it holds nothing of a set it has never seen', () => {
    expect(new VectorMemory().search({ set, query })).toBeUndefined();
  });

  it('drops the set that was not searched for the longest time when room is short', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([[1, { stamp: 5, vector: query.vector }]]);
    const sets = [1, 2, 3].map((knowledgeId) => ({ ...set, knowledgeId }));
    const [first = set, second = set, third = set] = sets;
    // One vector and the room beside it.
    const each = (1 + 7) * DIMENSION * 4;
    refresh(memory, rows, { of: first, limit: 2 * each });
    refresh(memory, rows, { of: second, limit: 2 * each });
    memory.search({ set: first, query });
    refresh(memory, rows, { of: third, limit: 2 * each });
    const held = sets.map((one) => memory.search({ set: one, query })?.hits.length);

    expect(held).toEqual([1, undefined, 1]);
  });

  it('does not answer from a set of which a part was dropped meanwhile', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([
      [1, { stamp: 5, vector: query.vector }],
      [2, { stamp: 6, vector: query.vector }],
    ]);
    const list = vectorsOf(rows);
    // The second alone was missing when it was asked, but now the first one is, too.
    const added = vectorsOf(rows, [2]);
    const task = { set, query, revision: '1', list, added, count: 2, limitBytes };

    expect(memory.update(task)).toBeUndefined();
    expect(memory.search({ set, query })?.revision).not.toBe('1');
    refresh(memory, rows);
    expect(memory.search({ set, query })?.hits).toHaveLength(2);
  });

  it('forgets a base in every dimension, or all of a tenant', () => {
    const memory = new VectorMemory();
    const rows: Rows = new Map([[1, { stamp: 5, vector: query.vector }]]);
    const other = { ...set, knowledgeId: 2 };
    const foreign = { ...set, tenantId: '300009' };
    const isHeld = (of: VectorSet): boolean => memory.search({ set: of, query }) !== undefined;
    for (const one of [set, other, foreign]) refresh(memory, rows, { of: one });

    memory.forget({ tenantId: '000000', knowledgeId: 1 });
    expect([set, other, foreign].map(isHeld)).toEqual([false, true, true]);
    memory.forget({ tenantId: '000000' });
    expect([set, other, foreign].map(isHeld)).toEqual([false, false, true]);
  });
});
