import { describe, expect, it } from '@jest/globals';
import { judge } from './judgement.js';

const found = [
  { fid: 'f1', docId: 'a' },
  { fid: 'f2', docId: 'a' },
  { fid: 'f3', docId: 'b' },
  { fid: 'f4', docId: 'c' },
];

describe('judge', () => {
  it('gives a document the place of its first fragment, and its others none', () => {
    const expected = [
      { docId: 'b', relevance: 2 },
      { docId: 'x', relevance: 1 },
    ];
    expect(judge(found, expected)).toEqual({ gains: [0, 2, 0], relevant: [2, 1] });
  });

  it('counts every fragment where only fragments are expected', () => {
    expect(judge(found, [{ fid: 'f3', relevance: 3 }])).toEqual({
      gains: [0, 0, 3, 0],
      relevant: [3],
    });
  });

  it('takes documents and fragments together', () => {
    const expected = [
      { fid: 'f2', relevance: 3 },
      { docId: 'a', relevance: 1 },
      { docId: 'c', relevance: 1 },
    ];
    expect(judge(found, expected).gains).toEqual([1, 3, 0, 1]);
  });

  it('finds nothing in nothing', () => {
    expect(judge([], [{ docId: 'a', relevance: 1 }])).toEqual({ gains: [], relevant: [1] });
  });
});
