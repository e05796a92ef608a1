import { describe, expect, it } from '@jest/globals';
import { storableJson } from './storable.js';

describe('the JSON that the database can hold', () => {
  const textOf = (text: string): string => text.replaceAll('\0', '').toWellFormed();

  it('has storable texts and names', () => {
    const value = { 'a\0': ['b\0', '\ud800c', 7, null, true], d: { 'e\0': [{ 'f\0': '' }] } };
    expect(JSON.parse(storableJson(value, textOf))).toEqual({
      a: ['b', '\ufffdc', 7, null, true],
      d: { e: [{ f: '' }] },
    });
  });

  it('is the same as JSON for everything else', () => {
    const value = { at: new Date(0), none: undefined, list: [undefined, 'ä', '\n'] };
    expect(storableJson(value, textOf)).toBe(JSON.stringify(value));
  });
});
