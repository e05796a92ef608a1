import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { resourceNames } from './skill.reader.js';

describe('the path of a resource', () => {
  it.each([
    ['guide.md', ['guide.md']],
    ['references/guide.md', ['references', 'guide.md']],
    ['./references/./guide.md', ['references', 'guide.md']],
    ['a/.hidden', ['a', '.hidden']],
    ['...', ['...']],
    ['..a/b..', ['..a', 'b..']],
    ['%2e%2e/x', ['%2e%2e', 'x']],
    ['．．/x', ['．．', 'x']],
    ['‥/x', ['‥', 'x']],
    ['Übersicht 指南.md', ['Übersicht 指南.md']],
    [`${'d/'.repeat(2_000)}f`, [...Array<string>(2_000).fill('d'), 'f']],
    ['f'.repeat(255), ['f'.repeat(255)]],
  ])('%j names what it says', (path, names) => {
    expect(resourceNames(path)).toEqual(names);
  });

  it.each([
    ['', 'is empty'],
    ['.', 'does not name a file'],
    ['./', 'does not name a file'],
    ['references/', 'does not name a file'],
    ['a//b', 'does not name a file'],
    ['/etc/passwd', 'is absolute'],
    ['//server/share', 'is absolute'],
    ['C:/x', 'is absolute'],
    ['c:x', 'is absolute'],
    ['..', 'contains ..'],
    ['../x', 'contains ..'],
    ['a/../b', 'contains ..'],
    ['a/..', 'contains ..'],
    ['./../x', 'contains ..'],
    ['..\\x', 'contains a backslash'],
    ['a\\..\\..\\x', 'contains a backslash'],
    ['a\0b', 'contains a control character'],
    ['guide.md\0.png', 'contains a control character'],
    ['a\nb', 'contains a control character'],
    ['a\x7f', 'contains a control character'],
    ['a/'.repeat(2_049), 'is longer than 4096 bytes'],
    [`${'é'.repeat(128)}.md`, 'contains a name of more than 255 bytes'],
  ])('%j is refused', (path, why) => {
    expect(() => resourceNames(path)).toThrow(why);
    expect(() => resourceNames(path)).toThrow('Give the path of a file in the folder of the skill');
  });

  it('leads never elsewhere', () => {
    const piece = fc.constantFrom(
      '..',
      '.',
      '/',
      '\\',
      'a',
      '\0',
      '%2e',
      'C:',
      ' ',
      '…',
      '.\u0301',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const names = namesOrRefusal(pieces.join(''));
        if (names === undefined) return;
        expect(names.length).toBeGreaterThan(0);
        for (const name of names) expect(name).not.toMatch(/^\.{0,2}$|[/\\\0]/);
      }),
    );
  });
});

function namesOrRefusal(path: string): readonly string[] | undefined {
  try {
    return resourceNames(path);
  } catch {
    return undefined;
  }
}
