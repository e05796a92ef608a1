import { describe, expect, it } from '@jest/globals';
import { applyPatch } from 'diff';
import fc from 'fast-check';
import { unifiedDiff } from './unified-diff.js';
import type { DiffSide, FileDiff } from './unified-diff.js';

function side(content: string | Buffer | null, mode = 0o644): DiffSide | null {
  return content === null ? null : { content: Buffer.from(content), mode };
}

function diffOf(before: DiffSide | null, after: DiffSide | null, path = 'src/a.ts'): FileDiff {
  return unifiedDiff({ path, before, after });
}

describe('the difference of a file', () => {
  it('gives the new text when it is applied to the old one', () => {
    const line = fc.constantFrom('', 'a', 'b', '-a', '+b', ' c', '--- d', 'é\r');
    const text = fc
      .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
      .map(([lines, ended]) => lines.join('\n') + (ended && lines.length > 0 ? '\n' : ''));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { diff, additions, deletions } = diffOf(side(before), side(after));
        if (before === after) expect([additions, deletions]).toEqual([0, 0]);
        else expect(applyPatch(before, diff, { autoConvertLineEndings: false })).toBe(after);
      }),
    );
  });

  it('is right, if not the smallest, when the search for that would take too long', () => {
    const text = (salt: number): string =>
      [
        'first\n',
        ...Array.from({ length: 60_000 }, (_, at) => `${(at * salt) % 60_013}\n`),
        'last',
      ].join('');
    const [before, after] = [text(7), text(11)];
    const { diff } = diffOf(side(before), side(after));
    expect(applyPatch(before, diff, { autoConvertLineEndings: false })).toBe(after);
    expect(diff).toContain('@@ -1,');
  });

  it('tells of permissions, and of files that come and go', () => {
    expect(diffOf(side('a\n', 0o644), side('a\n', 0o755))).toEqual({
      additions: 0,
      deletions: 0,
      diff: 'diff --git a/src/a.ts b/src/a.ts\nold mode 100644\nnew mode 100755\n',
    });
    expect(diffOf(null, side('')).diff).toBe(
      'diff --git a/src/a.ts b/src/a.ts\nnew file mode 100644\n',
    );
    expect(diffOf(side('a'), null).diff).toContain(
      'deleted file mode 100644\n--- a/src/a.ts\n+++ /dev/null',
    );
  });

  it('quotes odd names', () => {
    const { diff } = diffOf(side('a\n'), side('b\n'), 'a\n"ü"');
    expect(diff.split('\n')[1]).toBe('--- "a/a\\n\\"\\303\\274\\""');
  });

  it.each([
    ['binary', Buffer.from([0, 1]), 'Binary files a/src/a.ts and b/src/a.ts differ'],
    ['no UTF-8', Buffer.from([0x61, 0xff]), 'Binary files'],
    ['too large', Buffer.alloc(4 * 1024 * 1024 + 1, 'a'), 'Too large to compare: 4194305 bytes'],
  ])('says so when a content is %s', (_, content, told) => {
    const { additions, deletions, diff } = diffOf(side(content), side('a'));
    expect([additions, deletions]).toEqual([null, null]);
    expect(diff).toContain(told);
  });

  it('says so when a content was not kept', () => {
    expect(diffOf({ content: undefined, mode: 0o644 }, side('a'))).toMatchObject({
      additions: null,
      diff: expect.stringContaining('not kept'),
    });
  });
});
