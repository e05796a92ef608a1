import { describe, expect, it } from '@jest/globals';
import { RE2JS } from 're2js';
import { patternOf } from './linear-pattern.js';

const PARTS = [
  ...['a', 'b', '1', ' ', '-', '.', '\\.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\b', '\\B'],
  ...[
    '[ab]',
    '[^ab]',
    '[\\s-]',
    '[^\\s]',
    '[\\S]',
    '[\\Sé]',
    '[\\b]',
    '[[a]',
    '[(?:]',
    '[^]',
    '[]',
    '[.]',
  ],
  ...[
    '\\u00e9',
    '\\u{1f600}',
    '\\ud83d\\ude00',
    '[\\ud83d\\ude00-\\u{1f610}]',
    '\\x20',
    '\\cJ',
    '\\0',
    '\\t',
  ],
  ...[
    '\\p{L}',
    '\\P{Lu}',
    '[\\p{Nd}_]',
    '\\p{Letter}',
    '\\p{Script=Greek}',
    '\\/',
    '[\\/\\]^]',
    '^',
    '$',
  ],
];
const QUANTIFIERS = ['', '', '', '?', '*', '+', '*?', '{2}', '{0,3}', '{1,}'];
const CHARACTERS = [...'ab1 -.é/😀]^[(?:_AΩ\n\r\t\b\v\0\u00a0\u2028\ufeff\ud83d'];

/** The same numbers in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield (state >>> 8) / 2 ** 24;
  }
}

describe('a pattern', () => {
  it('decides as JavaScript does', () => {
    const random = numbers(7);
    const one = <T>(list: readonly T[]): T =>
      list[Math.floor(random.next().value * list.length)] as T;
    const many = (most: number, part: () => string): string =>
      Array.from({ length: 1 + Math.floor(random.next().value * most) }, part).join('');
    const group = (depth: number): string =>
      many(3, () => {
        if (depth === 0 || random.next().value < 0.7) return one(PARTS) + one(QUANTIFIERS);
        const open = one(['(', '(?:', '(?<name>']);
        return `${open}${group(depth - 1)}|${group(depth - 1)})${one(QUANTIFIERS)}`;
      });
    let linear = 0;
    for (let round = 0; round < 1_000; round += 1) {
      const source = group(2);
      const expected = regExpOf(source);
      if (!expected) continue;
      const pattern = patternOf(source);
      if (pattern instanceof RE2JS) linear += 1;
      for (let text = 0; text < 20; text += 1) {
        const given = many(6, () => one(CHARACTERS));
        expect([source, given, pattern.test(given)]).toEqual([source, given, expected.test(given)]);
      }
    }
    expect(linear).toBeGreaterThan(300);
  });

  it.each([
    '^(a+)+$',
    '^(a|a)*$',
    '(?<x>a*)*b',
    '^(a|aa)+$',
    '(.*)(.*)(.*)(.*)(.*)=',
    '^(\\w+\\s?)*$',
  ])('takes a time that grows with the text alone: %s', (source) => {
    expect(patternOf(source)).toBeInstanceOf(RE2JS);
    expect(patternOf(source).test(`${'a'.repeat(100_000)}!`)).toBe(false);
  });

  it.each([
    ['^(?!x)a+$', 'aaa', 'xaa'],
    ['(?<=x)a', 'xa', 'a'],
    ['^(a|b)\\1$', 'aa', 'ab'],
    ['^(?<c>a|b)\\k<c>$', 'aa', 'ab'],
    ['^a{1,2000}$', 'aaa', ''],
    ['^\\p{Script=Greek}+$', 'αβ', 'ab'],
  ])('that RE2 does not know is one of JavaScript: %s', (source, match, other) => {
    const pattern = patternOf(source);
    expect(pattern).toBeInstanceOf(RegExp);
    expect([pattern.test(match), pattern.test(other)]).toEqual([true, false]);
  });

  it('that is none of JavaScript is refused, also where RE2 reads it', () => {
    for (const source of ['(', '\\Qa\\E', '(?i)a', '[[:alpha:]]', '\\A']) {
      expect(() => patternOf(source)).toThrow(SyntaxError);
    }
  });
});

function regExpOf(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}
