import { describe, expect, it } from '@jest/globals';
import { newestLeaf, withoutMessages } from './branch.js';

/** 1 ─ 2 ─ 3 ─ 5 and 1 ─ 4, and a second beginning 6. */
const LINKS = [
  { id: 1, parentId: null },
  { id: 2, parentId: 1 },
  { id: 3, parentId: 2 },
  { id: 4, parentId: 1 },
  { id: 5, parentId: 3 },
  { id: 6, parentId: null },
];

describe('the newest leaf', () => {
  it.each([
    [1, 5],
    [2, 5],
    [4, 4],
    [5, 5],
    [null, 6],
  ])('through %s is %s', (through, leaf) => {
    expect(newestLeaf(LINKS, through)).toBe(leaf);
  });

  it('is none without messages, and a message with an unknown parent is a beginning', () => {
    expect(newestLeaf([], null)).toBeNull();
    expect(newestLeaf([{ id: 7, parentId: 3 }], null)).toBe(7);
  });
});

describe('a deletion', () => {
  it('links what followed to what was before, over several deleted messages', () => {
    const { moved, leaf, links } = withoutMessages(LINKS, new Set([2, 3]), 5);
    expect(moved).toEqual([{ id: 5, parentId: 1 }]);
    expect(leaf).toBeUndefined();
    expect(links.map(({ id }) => id)).toEqual([1, 4, 5, 6]);
  });

  it('of the end of the branch says what is left of it', () => {
    expect(withoutMessages(LINKS, new Set([5, 3]), 5).leaf).toBe(2);
    expect(withoutMessages(LINKS, new Set([1, 4]), 4)).toMatchObject({
      moved: [{ id: 2, parentId: null }],
      leaf: null,
    });
  });
});
