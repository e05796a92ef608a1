import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/wait.js';
import { IdleCollection } from './idle-collection.js';

const MIB = 2 ** 20;

/** Makes the heap so much larger, with nothing that anybody holds. */
function makeGarbage(mib: number): number {
  const before = process.memoryUsage().heapTotal;
  const held: object[] = [];
  while (process.memoryUsage().heapTotal < before + mib * MIB) {
    for (let count = 0; count < 10_000; count += 1) held.push({ count });
  }
  return process.memoryUsage().heapTotal;
}

describe('IdleCollection', () => {
  it('returns the memory of garbage once the process is idle', async () => {
    const collection = new IdleCollection();
    try {
      const grown = makeGarbage(100);
      const kept = await eventually(
        () => {
          collection.look();
          return process.memoryUsage().heapTotal;
        },
        (bytes) => bytes < grown - 60 * MIB,
      );
      expect(kept).toBeLessThan(grown);
    } finally {
      collection.onModuleDestroy();
    }
  });

  it('leaves a process alone that is at work', () => {
    const collection = new IdleCollection();
    try {
      const grown = makeGarbage(100);
      collection.look();
      expect(process.memoryUsage().heapTotal).toBeGreaterThan(grown - 60 * MIB);
    } finally {
      collection.onModuleDestroy();
    }
  });
});
