import { describe, expect, it } from '@jest/globals';
import { SharedReads } from './database.js';

/** Reads that end when the test says so. */
function started(): { read: () => Promise<number>; ends: PromiseWithResolvers<number>[] } {
  const ends: PromiseWithResolvers<number>[] = [];
  const read = (): Promise<number> => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  };
  return { read, ends };
}

describe('SharedReads', () => {
  it('gives all who come while a read runs the result of one read that begins after it', async () => {
    const { read, ends } = started();
    const reads = new SharedReads<number>();
    const first = reads.get('a', read);
    const others = [reads.get('a', read), reads.get('a', read)];
    expect(ends).toHaveLength(1);
    ends[0]?.resolve(1);
    await expect(first).resolves.toBe(1);
    expect(ends).toHaveLength(2);
    const later = reads.get('a', read);
    ends[1]?.resolve(2);
    await expect(Promise.all(others)).resolves.toEqual([2, 2]);
    expect(ends).toHaveLength(3);
    ends[2]?.resolve(3);
    await expect(later).resolves.toBe(3);
  });

  it('reads other rows meanwhile', async () => {
    const { read, ends } = started();
    const reads = new SharedReads<number>();
    const results = [reads.get('a', read), reads.get('b', read)];
    expect(ends).toHaveLength(2);
    ends.forEach((end, index) => end.resolve(index));
    await expect(Promise.all(results)).resolves.toEqual([0, 1]);
  });

  it('tries again for those who have waited for a read that failed', async () => {
    const { read, ends } = started();
    const reads = new SharedReads<number>();
    const first = reads.get('a', read);
    const second = reads.get('a', read);
    ends[0]?.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    ends[1]?.resolve(2);
    await expect(second).resolves.toBe(2);
  });

  it('reads anew once nobody waits', async () => {
    const { read, ends } = started();
    const reads = new SharedReads<number>();
    for (const value of [1, 2, 3]) {
      const result = reads.get('a', read);
      ends.at(-1)?.resolve(value);
      await expect(result).resolves.toBe(value);
    }
    expect(ends).toHaveLength(3);
  });
});
