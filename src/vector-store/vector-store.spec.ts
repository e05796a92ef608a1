import { describe, expect, it } from '@jest/globals';
import { batchesOf } from './vector-store.js';
import type { VectorEntry } from './vector-store.js';

function entry(fragmentId: number, dimension: number): VectorEntry {
  return { fragmentId, attachmentId: 1, vector: new Float32Array(dimension) };
}

function shapes(batches: VectorEntry[][]): string[] {
  return batches.map((batch) =>
    batch.map(({ fragmentId, vector }) => `${fragmentId}x${vector.length}`).join(' '),
  );
}

describe('batchesOf', () => {
  it('keeps to both limits, apart by dimension, by fragment id', () => {
    const entries = [entry(5, 2), entry(1, 4), entry(3, 2), entry(2, 4), entry(4, 2)];
    expect(shapes(batchesOf(entries, { entries: 2, numbers: 7 }))).toEqual([
      '1x4',
      '2x4',
      '3x2 4x2',
      '5x2',
    ]);
  });

  it('takes the last one of a fragment, and one that is larger than the limit by itself', () => {
    const entries = [entry(1, 2), entry(1, 9), entry(2, 9)];
    expect(shapes(batchesOf(entries, { entries: 10, numbers: 5 }))).toEqual(['1x9', '2x9']);
    expect(batchesOf([], { entries: 10, numbers: 5 })).toEqual([]);
  });
});
