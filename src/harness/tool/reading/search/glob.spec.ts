import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { Glob } from './glob.js';
import { SearchPatternError } from './search.query.js';

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
    ['a**c', 'abbc', true],
    ['a*b*c', 'axbxbxc', true],
    ['', 'a', false],
  ])('%j fits %j: %p', (glob, path, fits) => {
    expect(new Glob(glob).fits(path)).toBe(fits);
  });

  it.each(['{a', 'a}', '{a,b', '{a,b}'.repeat(9)])('%j is an error', (glob) => {
    expect(() => new Glob(glob)).toThrow(SearchPatternError);
  });

  it('knows the names that it can fit', () => {
    expect(new Glob('src/**/*.{ts,tsx}').names).toEqual(['*.ts', '*.tsx']);
    expect(new Glob('*.md').names).toEqual(['*.md']);
    expect(new Glob('src/**').names).toBeUndefined();
  });

  it('fits what a well-known matcher fits', () => {
    const piece = fc.constantFrom('a', 'b', '*', '**', '?', '{a,b}', '[ab]', '.', 'ab');
    const name = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''));
    const glob = fc
      .array(name, { minLength: 2, maxLength: 4 })
      // Where stars meet inside of a name, readings differ.
      .map((names) => names.map((one) => (one === '**' ? one : one.replace(/\*{2,}/g, '*'))))
      .map((names) => names.join('/'))
      .filter((text) => !/(^|\/)\.{1,2}(\/|$)/.test(text) && !text.endsWith('**'));
    const path = fc
      .array(fc.stringMatching(/^[ab.]{1,3}$/), { minLength: 1, maxLength: 5 })
      .filter((names) => !names.some((one) => /^\.+$/.test(one)))
      .map((names) => names.join('/'));
    fc.assert(
      fc.property(glob, path, (text, given) => {
        const expected = picomatch(text, { dot: true, noextglob: true })(given);
        expect(new Glob(text).fits(given)).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
  });

  it('takes no time for a pattern that others take for ever for', () => {
    const glob = new Glob(`${'*a'.repeat(100)}*b`);
    const start = Date.now();
    for (let i = 0; i < 1_000; i += 1) glob.fits('a'.repeat(255));
    expect(Date.now() - start).toBeLessThan(60_000);
  });
});
