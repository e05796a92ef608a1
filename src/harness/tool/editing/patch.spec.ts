import { describe, expect, it } from '@jest/globals';
import { createTwoFilesPatch, formatPatch, structuredPatch } from 'diff';
import fc from 'fast-check';
import { ToolError } from '../../protocol/tool-call.js';
import { applyHunks } from './apply-patch.tool.js';
import { parsePatch } from './patch.js';

/** The text after the one update that the patch holds. */
function patched(text: string, patch: string): string {
  const [section] = parsePatch(patch);
  if (section?.kind !== 'update') throw new Error('The patch holds no update.');
  return applyHunks(text, section.hunks, '"f"').text;
}

function envelope(...lines: string[]): string {
  return ['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch', ''].join('\n');
}

function errorOf(work: () => unknown): ToolError {
  try {
    work();
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

const numbers = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
const file = `${numbers.join('\n')}\n`;

describe('a unified diff', () => {
  it('is read with and without what git writes around it', () => {
    const patch = [
      'diff --git a/one.txt b/one.txt',
      'index 1234567..89abcde 100644',
      '--- a/one.txt\t2026-01-01 10:00:00',
      '+++ b/one.txt',
      '@@ -1 +1,2 @@ some function',
      '-a',
      '+b',
      '+c',
      '\\ No newline at end of file',
      '--- two.txt',
      '+++ two.txt',
      '@@ -3,2 +3,1 @@',
      ' x',
      '--- a',
      'diff --git a/old.txt b/new.txt',
      'similarity index 100%',
      'rename from old.txt',
      'rename to new.txt',
      'diff --git a/empty b/empty',
      'new file mode 100755',
      'index 0000000..e69de29',
      'diff --git a/gone b/gone',
      'deleted file mode 100644',
      '--- a/gone',
      '+++ /dev/null',
      '@@ -1,1 +0,0 @@',
      '-x',
      '--- /dev/null',
      '+++ b/made.txt',
      '@@ -0,0 +1,2 @@',
      '+one',
      '+',
      '',
    ].join('\n');
    const sections = parsePatch(patch);
    expect(sections.map(({ kind, path }) => [kind, path])).toEqual([
      ['update', 'one.txt'],
      ['update', 'two.txt'],
      ['update', 'old.txt'],
      ['add', 'empty'],
      ['delete', 'gone'],
      ['add', 'made.txt'],
    ]);
    expect(sections[2]).toMatchObject({ to: 'new.txt', hunks: [] });
    expect(sections[3]).toMatchObject({ content: '', executable: true });
    expect(sections[5]).toMatchObject({ content: 'one\n\n', executable: false });
  });

  it('may have quoted names', () => {
    const patch =
      '--- "a/\\303\\244 \\"x\\".txt"\n+++ "b/\\303\\244 \\"x\\".txt"\n@@ -1 +1 @@\n-a\n+b\n';
    expect(parsePatch(patch)).toMatchObject([{ path: 'ä "x".txt' }]);
  });

  it.each([
    ['counts that are wrong', '--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n-a\n+b\n', 'announces 2 old'],
    ['too many lines', '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n', 'has 1 and 2'],
    ['no file names', '@@ -1 +1 @@\n-a\n+b\n', '"--- a/path"'],
    ['other text', 'Here is the patch:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n', 'line 1'],
    ['a fence', '```diff\n--- a/f\n', 'line 1'],
    ['no hunk', '--- a/f\n+++ b/f\n', 'no hunk'],
    ['a hunk without numbers', '--- a/f\n+++ b/f\n@@ -a @@\n', 'line 3'],
    ['two names', '--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n', 'differ'],
    ['half a move', 'rename from f\n', 'rename to'],
    ['a mode', 'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n', 'permissions'],
    ['a link', 'diff --git a/f b/f\nnew file mode 120000\n', 'line 2'],
    ['a copy', 'diff --git a/f b/g\ncopy from f\ncopy to g\n', 'copies'],
    ['a binary', 'diff --git a/f b/f\nGIT binary patch\n', 'binary'],
    ['context in a new file', '--- /dev/null\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n', 'nothing but +'],
    ['no file at all', '--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n', '/dev/null'],
  ])('is refused for %s', (_, patch, why) => {
    const error = errorOf(() => parsePatch(patch));
    expect(error.code).toBe('PATCH_REFUSED');
    expect(error.message).toContain(why);
  });

  it('is applied where the file has moved on', () => {
    const patch = createTwoFilesPatch('f', 'f', file, file.replace('line 20', 'twenty'));
    const moved = `new\nnew\n${file}`;
    expect(patched(moved, patch)).toBe(moved.replace('line 20', 'twenty'));
  });

  it('takes the line that a hunk names when its text is in several places', () => {
    const twice = 'a\nb\na\nb\n';
    const hunk = (at: number): string => `--- a/f\n+++ b/f\n@@ -${at} +${at} @@\n-b\n+c\n`;
    expect(patched(twice, hunk(4))).toBe('a\nb\na\nc\n');
    expect(patched(twice, hunk(2))).toBe('a\nc\na\nb\n');
    expect(errorOf(() => patched(twice, hunk(3))).code).toBe('AMBIGUOUS_MATCH');
  });
});

describe('a patch in an envelope', () => {
  it('is read part by part', () => {
    const patch = [
      '',
      '*** Begin Patch',
      '*** Add File: src/new.ts',
      '+one',
      '+',
      '+*** two',
      '',
      '*** Delete File: old.ts',
      '*** Update File: a.ts',
      '*** Move to: b.ts',
      '@@ class A',
      '@@   run() {',
      '-  x();',
      '+  y();',
      '',
      ' z',
      '*** End of File',
      '*** Update File: c.ts',
      ' kept',
      '+added',
      '*** End Patch',
    ].join('\r\n');
    const [added, deleted, moved, updated] = parsePatch(patch);
    expect(added).toMatchObject({ kind: 'add', path: 'src/new.ts', content: 'one\n\n*** two\n' });
    expect(deleted).toMatchObject({ kind: 'delete', path: 'old.ts' });
    expect(moved).toMatchObject({ kind: 'update', path: 'a.ts', to: 'b.ts' });
    if (moved?.kind !== 'update') throw new Error('The third part is no update.');
    expect(moved.hunks).toMatchObject([{ anchors: ['class A', 'run() {'], atEnd: true }]);
    expect(moved.hunks[0]?.lines.map(({ kind, text }) => kind + text)).toEqual([
      '-  x();',
      '+  y();',
      ' ',
      ' z',
    ]);
    expect(updated).toMatchObject({ path: 'c.ts', hunks: [{ anchors: [], atEnd: false }] });
  });

  it.each([
    ['no end', '*** Begin Patch\n*** Delete File: f\n', '*** End Patch'],
    ['text after the end', `${envelope('-a')}more\n`, 'follows'],
    ['an unknown part', '*** Begin Patch\n*** Rename File: f\n*** End Patch\n', 'line 2'],
    ['a line without a mark', envelope('@@', '-a', 'b'), 'line 5'],
    ['an added file without marks', '*** Begin Patch\n*** Add File: f\nx\n*** End Patch', '+'],
    ['an update without hunks', envelope(), 'no hunk'],
    ['a hunk without changes', envelope('@@', ' a'), 'changes nothing'],
  ])('is refused for %s', (_, patch, why) => {
    const error = errorOf(() => parsePatch(patch));
    expect(error.code).toBe('PATCH_REFUSED');
    expect(error.message).toContain(why);
  });

  it('is applied by what it says, not by numbers', () => {
    expect(patched('a\nb\nc\n', envelope('@@', ' a', '-b', '+x', '+y', ' c'))).toBe('a\nx\ny\nc\n');
  });

  it('looks for a hunk behind its anchors', () => {
    const text = 'class A {\n  x();\n}\nclass B {\n  x();\n  x();\n}\n';
    expect(patched(text, envelope('@@ class B {', '-  x();', '+  y();'))).toBe(
      'class A {\n  x();\n}\nclass B {\n  y();\n  x();\n}\n',
    );
    expect(errorOf(() => patched(text, envelope('@@', '-  x();', '+  y();'))).code).toBe(
      'AMBIGUOUS_MATCH',
    );
    expect(errorOf(() => patched(text, envelope('@@ class C {', '-  x();'))).code).toBe('NO_MATCH');
    expect(errorOf(() => patched(text, envelope('@@ }', '-  x();'))).code).toBe('AMBIGUOUS_MATCH');
  });

  it('takes its hunks in their order', () => {
    const text = 'a\nx\nb\nx\n';
    expect(patched(text, envelope('@@', ' a', '-x', '@@', ' b', '-x'))).toBe('a\nb\n');
    expect(errorOf(() => patched(text, envelope('@@', ' b', '-x', '@@', ' a', '-x'))).code).toBe(
      'NO_MATCH',
    );
    // After the first hunk only one place is left.
    expect(patched(text, envelope('@@', ' a', '-x', '@@', '-x', '+y'))).toBe('a\nb\ny\n');
  });

  it('adds lines at the end of a file, or to an empty one', () => {
    expect(patched('a\n', envelope('@@', '+b', '*** End of File'))).toBe('a\nb\n');
    expect(patched('', envelope('@@', '+b'))).toBe('b\n');
    expect(patched('a\nb\na\n', envelope('@@', '-a', '+c', '*** End of File'))).toBe('a\nb\nc\n');
    expect(patched('a\n', envelope('@@', '+b', '+c'))).toBe('a\nb\nc\n');
    expect(patched('a\r\nb', envelope('+c'))).toBe('a\r\nb\r\nc');
    expect(patched('a\nb\n', envelope('@@', '-a', '+x', '@@', '+c'))).toBe('x\nb\nc\n');
    const early = errorOf(() => patched('a\nb\n', envelope('@@', '+c', '@@', '-a', '+x')));
    expect(early.code).toBe('PATCH_REFUSED');
    expect(early.message).toContain('Put it last');
  });

  it('adds lines right behind a line that it names', () => {
    const text = 'class A {\n}\nclass B {\n}\n';
    expect(patched(text, envelope('@@ class B {', '+  x();'))).toBe(
      'class A {\n}\nclass B {\n  x();\n}\n',
    );
    const both = envelope('@@ class A {', '+  x();', '@@ class B {', '+  y();');
    expect(patched(text, both)).toBe('class A {\n  x();\n}\nclass B {\n  y();\n}\n');
    expect(errorOf(() => patched(text, envelope('@@ class C {', '+  x();'))).code).toBe('NO_MATCH');
    expect(errorOf(() => patched(text, envelope('@@ }', '+  x();'))).code).toBe('AMBIGUOUS_MATCH');
  });
});

describe('what models write around a patch', () => {
  const whole = envelope('@@', ' a', '-b', '+c', '+*** End Patch');
  const unified = '--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n';

  it.each([
    ['a fence', (patch: string) => `\`\`\`diff\n${patch}\`\`\`\n`],
    ['another fence and blank lines', (patch: string) => `\n~~~~\n\n${patch}\n~~~~\n\n`],
    ['a here document', (patch: string) => `apply_patch <<'EOF'\n${patch}EOF\n`],
    ['one of another program', (patch: string) => `git apply -p1 <<-"PATCH"\n${patch}PATCH`],
    ['one with typographic quotes', (patch: string) => `apply_patch << ‘EOF’\n${patch}EOF\n`],
    ['one that is piped', (patch: string) => `cat <<EOF | apply_patch\n${patch}EOF\n`],
    ['one without a program', (patch: string) => `<<'EOF'\r\n${patch}EOF\r\n`],
    ['one in a fence', (patch: string) => `\`\`\`sh\napply_patch <<'EOF'\n${patch}EOF\n\`\`\`\n`],
  ])('is understood: %s', (_, wrap) => {
    expect(patched('a\nb\n', wrap(whole))).toBe('a\nc\n*** End Patch\n');
    expect(patched('a\nb\n', wrap(unified))).toBe('a\nc\n');
  });

  it.each([
    ['is not closed', `\`\`\`diff\n${unified}`, 'line 1'],
    ['ends otherwise', `apply_patch <<'EOF'\n${unified}END\n`, 'line 1'],
    ['runs something else', `rm -rf x; apply_patch <<'EOF'\n${unified}EOF\n`, 'line 1'],
    ['is of a program that is not known', `python3 <<'EOF'\n${unified}EOF\n`, 'line 1'],
  ])('is refused when it %s', (_, patch, why) => {
    const error = errorOf(() => parsePatch(patch));
    expect(error.code).toBe('PATCH_REFUSED');
    expect(error.message).toContain(why);
  });

  it('leaves the numbers of lines in messages as they were given', () => {
    const patch = `\`\`\`\n*** Begin Patch\n*** Rename File: f\n*** End Patch\n\`\`\`\n`;
    expect(errorOf(() => parsePatch(patch)).message).toContain('line 3 must be');
  });
});

describe('markers of an envelope that are indented', () => {
  it.each([['  '], ['\t'], ['        ']])('with all lines by %j', (indent) => {
    const lines = ['*** Begin Patch', '*** Add File: n', '+x', '+  y', '', '*** Update File: f'];
    const rest = ['@@ a', '-b', '+c', ' d', '*** End of File', '*** End Patch'];
    const patch = [...lines, ...rest].map((line) => (line === '' ? '' : indent + line)).join('\n');
    const [added, updated] = parsePatch(patch);
    expect(added).toMatchObject({ kind: 'add', content: 'x\n  y\n' });
    if (updated?.kind !== 'update') throw new Error('The second part is no update.');
    expect(applyHunks('a\nb\nd\n', updated.hunks, '"f"').text).toBe('a\nc\nd\n');
  });

  it('alone', () => {
    const patch = [
      ...['  *** Begin Patch', '  *** Add File: n', '+x', '   *** Update File: f', '   @@'],
      ...[' a', '-b', '+c', '   *** End of File', '  *** Delete File: g', '  *** End Patch'],
    ].join('\n');
    const sections = parsePatch(patch);
    expect(sections.map(({ kind, path }) => [kind, path])).toEqual([
      ['add', 'n'],
      ['update', 'f'],
      ['delete', 'g'],
    ]);
    expect(patched('a\nb\n', patch.replace('  *** Add File: n\n+x\n', ''))).toBe('a\nc\n');
  });

  it('are lines of the file where they could be, and the last one ends the patch', () => {
    const text = '*** Update File: x\nb\n';
    const patch = ['*** Begin Patch', '*** Update File: f', ' *** Update File: x', '-b', '+c'];
    expect(patched(text, [...patch, '  *** End Patch', ''].join('\n'))).toBe(
      '*** Update File: x\nc\n',
    );
  });
});

describe('typographic characters', () => {
  it('are understood where they are in the file, which keeps them', () => {
    const hunk = envelope('@@', " don't stop", '-a - b', '+a - c');
    expect(patched('don’t\u00a0stop\na — b\n', hunk)).toBe('don’t\u00a0stop\na - c\n');
  });

  it('are as given where they are as in the file', () => {
    expect(patched('a “x”\nb\n', envelope('@@', ' a “x”', '-b', '+c “y”'))).toBe('a “x”\nc “y”\n');
  });

  it('do not match plain ones in the file, where what is added would bring them in', () => {
    const hunk = envelope('@@', ' f(“x”);', '-g(a);', '+g(“b”);');
    expect(errorOf(() => patched('f("x");\ng(a);\n', hunk)).code).toBe('NO_MATCH');
  });

  it('make no place out of two', () => {
    const hunk = envelope('@@', '-say("x")', '+y');
    expect(errorOf(() => patched('say(“x”)\nsay(„x“)\n', hunk)).code).toBe('AMBIGUOUS_MATCH');
    expect(patched('say(“x”)\nsay("x")\n', hunk)).toBe('say(“x”)\ny\n');
  });
});

describe('a hunk', () => {
  it('may differ in spaces at the ends of lines where that is one place', () => {
    expect(patched('a  \nb\n', envelope('@@', ' a', '-b', '+c'))).toBe('a  \nc\n');
    expect(errorOf(() => patched('a  \nb\na\t\nb\n', envelope('@@', ' a', '-b', '+c'))).code).toBe(
      'AMBIGUOUS_MATCH',
    );
  });

  it('may differ by one indentation, to which new lines are fitted', () => {
    expect(patched('{\n    a\n      b\n}\n', envelope('@@', ' a', '-  b', '+  c', '+d'))).toBe(
      '{\n    a\n      c\n    d\n}\n',
    );
    expect(errorOf(() => patched('a\n b\n', envelope('@@', '   a', '-   b', '+ c'))).code).toBe(
      'PATCH_REFUSED',
    );
  });

  it('that fits nowhere is answered with the closest lines', () => {
    const error = errorOf(() => patched(file, envelope('@@', ' line 7', '-line 9', '+x')));
    expect(error.code).toBe('NO_MATCH');
    expect(error.message).toMatch(/closest lines are \d+ to/);
  });

  it('keeps line ends and the missing newline at the end', () => {
    expect(patched('a\r\nb\r\nc', envelope('@@', ' a', '-b', '+x', '+y'))).toBe('a\r\nx\r\ny\r\nc');
    expect(patched('a\r\nb', envelope('@@', '-b', '+c', '+d'))).toBe('a\r\nc\r\nd');
    expect(patched('a\nb\r\nc\n', envelope('@@', ' a', ' b', '-c', '+d'))).toBe('a\nb\r\nd\n');
  });

  it('is refused in time when there is too much to compare', () => {
    const text = 'a\n'.repeat(1_000_000);
    const hunks = Array.from({ length: 300 }, () => ['@@', '-a', '-b']).flat();
    expect(errorOf(() => patched(text, envelope(...hunks))).code).toBe('TOO_LARGE');
  });

  it('is applied to a file of very many lines', () => {
    const text = Array.from({ length: 400_000 }, (_, index) => `${index}\n`).join('');
    const changed = patched(text, envelope('@@', ' 199999', '-200000', '+x'));
    expect(changed).toBe(text.replace('\n200000\n', '\nx\n'));
  });

  it.each([
    ['that stay', '', ' b'],
    ['before what could be the end of the patch', '   *** End Patch', ' b'],
  ])('takes bounded time for very many empty lines %s', (_, middle, last) => {
    const empty = '\n'.repeat(120_000);
    const patch = envelope('@@', '-a', empty, middle, empty, last);
    expect(parsePatch(patch)).toMatchObject([{ kind: 'update', path: 'f' }]);
  });

  it('takes bounded time for a header that repeats itself', () => {
    // Each of the many places at which the second name could begin would be compared with all that follows.
    const header = `diff --git a/${' b/'.repeat(85_000)}x`;
    expect(errorOf(() => parsePatch(`${header}\nrename from x\n`)).code).toBe('PATCH_REFUSED');
  });
});

describe('any difference', () => {
  const line = fc.constantFrom('', 'a', 'b', ' a', '-a', '--- a', '+++ b', '@@ -1 +1 @@', 'x y ');
  const text = fc.tuple(fc.array(line, { maxLength: 12 }), fc.boolean()).map(([lines, isOpen]) => {
    const whole = lines.map((one) => `${one}\n`).join('');
    return isOpen && lines.at(-1) !== '' ? whole.slice(0, -1) : whole;
  });

  it.each(['\n', '\r\n'])('applied as a unified diff gives the new text (%j)', (end) => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1, max: 4 }), (before, after, context) => {
        // A file without any line end says nothing about new ones.
        fc.pre(before !== after && before.includes('\n') && after !== '');
        const [old, now] = [before, after].map((one) => one.replaceAll('\n', end));
        const patch = structuredPatch('a/f', 'b/f', old ?? '', now ?? '', '', '', { context });
        expect(patched(old ?? '', formatPatch(patch))).toBe(now);
      }),
      { numRuns: 500 },
    );
  });
});
