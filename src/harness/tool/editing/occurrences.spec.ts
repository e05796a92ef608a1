import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { codesOf, occurrences } from './text-edit.js';

function placesOf(text: string, pattern: string): number[] {
  return occurrences(codesOf(text), codesOf(pattern));
}

function naive(text: string, pattern: string): number[] {
  if (pattern === '') return [];
  return [...text.split('').keys()].filter((at) => text.startsWith(pattern, at));
}

describe('occurrences', () => {
  it('finds every place, also those that overlap', () => {
    expect(placesOf('aaaa', 'aa')).toEqual([0, 1, 2]);
    expect(placesOf('abcabcab', 'abcab')).toEqual([0, 3]);
    expect(placesOf('abc', '')).toEqual([]);
    expect(placesOf('abc', 'abcd')).toEqual([]);
  });

  it('finds what a plain search finds', () => {
    const few = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 5 });
    fc.assert(
      fc.property(few, pattern, (text, part) => {
        expect(placesOf(text, part)).toEqual(naive(text, part));
      }),
    );
  });

  it('takes no longer for texts that are made to be slow', () => {
    const text = 'a'.repeat(4 * 1024 * 1024);
    expect(placesOf(text, `b${'a'.repeat(256 * 1024)}`)).toEqual([]);
  });
});
