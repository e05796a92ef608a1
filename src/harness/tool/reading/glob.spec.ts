import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { Glob, SearchPatternError, SearchStoppedError } from './glob.js';

describe('a glob', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a/b/c.ts', true],
    ['*.ts', 'a.tsx', false],
    ['/*.ts', 'a.ts', true],
    ['/*.ts', 'a/b.ts', false],
    ['./a/*.ts', 'a/b.ts', true],
    ['a/*.ts', 'x/a/b.ts', false],
    ['**/a/*.ts', 'x/a/b.ts', true],
    ['**/a/*.ts', 'a/b.ts', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'a', false],
    ['a/', 'a/b/c', true],
    ['a/**/c', 'a/c', true],
    ['a/**/c', 'a/b/b/c', true],
    ['a/**/c', 'a/b/b/d', false],
    ['**', 'a/b', true],
    ['**/*', 'a', true],
    ['.*', '.gitignore', true],
    ['*', '.gitignore', true],
    ['{a,b}/*.{ts,js}', 'b/x.js', true],
    ['{a,b}/*.{ts,js}', 'c/x.js', false],
    ['{a/{b,c},d}/x', 'a/c/x', true],
    ['{a/{b,c},d}/x', 'd/x', true],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]x]y', ']y', true],
    ['\\*x', '*x', true],
    ['\\*x', 'ax', false],
    ['\\{a\\}', '{a}', true],
    ['a[', 'a[', true],
    ['(a|b)', '(a|b)', true],
    ['(a|b)', 'a', false],
    ['+(a)', '+(a)', true],
    ['@(a|b)', 'a', false],
    ['!(a)', 'b', false],
    ['a**c', 'abbc', true],
    ['a*b*c', 'axbxbxc', true],
    ['', 'a', false],
  ])('%j fits %j: %p', (glob, path, fits) => {
    expect(new Glob(glob).matches(path)).toBe(fits);
  });

  it.each(['{a', 'a}', '{a,b', '{a,b}'.repeat(9)])('%j is an error', (glob) => {
    expect(() => new Glob(glob)).toThrow(SearchPatternError);
  });

  it('knows the pattern of the names that it can fit', () => {
    expect(new Glob('src/**/*.{ts,tsx}').namePattern).toBe('*.{ts,tsx}');
    expect(new Glob('*.md').namePattern).toBe('*.md');
    expect(new Glob('src/{a/*.ts,b/*.js}').namePattern).toBeUndefined();
    expect(new Glob('[ab].ts').namePattern).toBeUndefined();
    expect(new Glob('src/**').namePattern).toBe('*');
  });

  it('fits what a well-known matcher fits', () => {
    const piece = fc.constantFrom('a', 'b', '*', '**', '?', '{a,b}', '[ab]', '.', 'ab');
    const name = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''));
    const glob = fc
      .array(name, { minLength: 2, maxLength: 4 })
      // Where stars meet inside of a name, readings differ.
      .map((names) => names.map((one) => (one === '**' ? one : one.replace(/\*{2,}/g, '*'))))
      .map((names) => names.join('/'))
      .filter((text) => !/(^|\/)\.{1,2}(\/|$)/.test(text) && !text.endsWith('**'))
      .filter((text) => (text.match(/\*\*/g) ?? []).length <= 2);
    const path = fc
      .array(fc.stringMatching(/^[ab.]{1,3}$/), { minLength: 1, maxLength: 5 })
      .filter((names) => !names.some((one) => /^\.+$/.test(one)))
      .map((names) => names.join('/'));
    fc.assert(
      fc.property(glob, path, (text, given) => {
        const expected = picomatch(text, { dot: true, noextglob: true })(given);
        expect(new Glob(text).matches(given)).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['many stars', `${'*a'.repeat(100)}*b`],
    ['four stars in one name', 'x/*a*a*a*b'],
    ['many globstars', '**/a/'.repeat(3)],
    ['many alternatives', '{a,aa,aaa,aaaa}'.repeat(4)],
    ['nested alternatives', '{{a,b},{c,d}}'.repeat(5)],
    ['too many characters', 'a'.repeat(1_001)],
  ])('refuses a pattern that would take for ever: %s', (_, glob) => {
    expect(() => new Glob(glob)).toThrow(SearchPatternError);
  });

  const deep = `${'a'.repeat(250)}/`.repeat(15) + 'a';
  it.each([
    ['stars in one name', '*a*a*b', 'a'.repeat(255)],
    ['stars below folders', '**/*a*a*b', deep],
    ['stars in two names', '**/*a*b/**/*a*b', deep],
    ['globstars in a deep path', '**/a/**/b', `${'a/'.repeat(2_000)}a`],
    ['alternatives', `**/${'{a,aa,aaa,aaaa}'.repeat(3)}*b`, deep],
    ['nested groups that are no groups', '((((a+)+)+)+)+b', 'a'.repeat(255)],
  ])('ends what takes long: %s', (_, text, path) => {
    const glob = new Glob(text);
    const search = (): void => {
      for (let i = 0; i < 10_000; i += 1) expect(glob.matches(path)).toBe(false);
    };
    try {
      search();
    } catch (error) {
      expect(error).toBeInstanceOf(SearchStoppedError);
    }
  });
});
