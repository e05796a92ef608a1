import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ToolError } from '../../protocol/tool-call.js';
import { editText } from './text-edit.js';
import type { EditedText } from './text-edit.js';

function edit(text: string, oldText: string, newText: string, replaceAll = false): EditedText {
  return editText(text, { oldText, newText, replaceAll }, '"f"');
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

describe('an exact edit', () => {
  it('replaces the one place and says where it is', () => {
    expect(edit('a\nb\nc\n', 'b\n', 'x\ny\n')).toEqual({
      text: 'a\nx\ny\nc\n',
      count: 1,
      line: 2,
      match: 'exact',
    });
    expect(edit('const a = 1;', 'a = 1', 'b = 2').text).toBe('const b = 2;');
    expect(edit('a\nb\n', 'b\n', '').text).toBe('a\n');
  });

  it('leaves the end of the file as it is', () => {
    expect(edit('a\nb', 'b', 'c').text).toBe('a\nc');
    expect(edit('a\nb\n', 'b', 'c').text).toBe('a\nc\n');
  });

  it('takes characters of a pattern or a replacement literally', () => {
    expect(edit('a.b*c$1', 'b*c', '$&$1').text).toBe('a.$&$1$1');
  });

  it('is refused for several places, with their lines', () => {
    const error = errorOf(() => edit('x\ny\nx\n', 'x', 'z'));
    expect(error.code).toBe('AMBIGUOUS_MATCH');
    expect(error.message).toContain('2 places of "f" (lines 1, 3)');
    // Places that overlap are several, too.
    expect(errorOf(() => edit('aaa', 'aa', 'b')).code).toBe('AMBIGUOUS_MATCH');
  });

  it('replaces all places when asked to', () => {
    expect(edit('x y x\nx', 'x', 'zz', true)).toMatchObject({ text: 'zz y zz\nzz', count: 3 });
    expect(edit('aaa', 'aa', 'b', true)).toMatchObject({ text: 'ba', count: 1 });
  });

  it('is refused for nothing to find or nothing to change', () => {
    expect(errorOf(() => edit('a', '', 'b')).code).toBe('INVALID_ARGUMENTS');
    expect(errorOf(() => edit('a', 'a', 'a')).code).toBe('INVALID_ARGUMENTS');
  });

  it('is refused when the file would grow too large', () => {
    const text = 'a'.repeat(10_000);
    expect(errorOf(() => edit(text, 'a', 'b'.repeat(1_000), true)).code).toBe('TOO_LARGE');
    expect(errorOf(() => edit('a'.repeat(60_000), 'a', 'b', true)).code).toBe('TOO_LARGE');
  });

  it('takes bounded time for a text made to be slow', () => {
    const text = `a\r\n${'a'.repeat(3_000_000)}`;
    expect(errorOf(() => edit(text, 'a', '\n', true)).code).toBe('TOO_LARGE');
    expect(edit(`${'a'.repeat(40_000)}\r\n`, 'a', '\n', true).count).toBe(40_000);
  });
});

describe('a search that does not find the text exactly', () => {
  it('takes bounded time for a run of spaces inside of a line', () => {
    // With time in proportion to the square: an hour.
    const text = `a\n${' '.repeat(2_000_000)}b\nc\n`;
    expect(edit(text, 'a \n', 'x\n').match).toBe('fuzzy');
  });

  it('takes bounded time for very many lines with typographic characters', () => {
    const lines = (line: string): string => `${line}\n`.repeat(100_000);
    // With time in proportion to the square: three quarters of an hour.
    const edited = edit(`${lines('“a”')}b\n`, `${lines('"a"')}b\n`, lines('“c”'));
    expect(edited).toMatchObject({ text: lines('“c”'), match: 'fuzzy' });
  });

  it('takes bounded time for a block that fits almost everywhere', () => {
    const lines = (count: number, line: string): string => `${line}\n`.repeat(count);
    const error = errorOf(() => edit(lines(600_900, 'a'), lines(600_000, ' a'), 'x\n'));
    expect(error.code).toBe('NO_MATCH');
  });
});

describe('line ends', () => {
  it('of the file are used for new lines', () => {
    expect(edit('a\r\nb\r\nc\r\n', 'b', 'x\ny').text).toBe('a\r\nx\r\ny\r\nc\r\n');
    expect(edit('a\nb\nc\n', 'b', 'x\ny').text).toBe('a\nx\ny\nc\n');
    expect(edit('a\r\nb', 'b', 'x\ny').text).toBe('a\r\nx\r\ny');
  });

  it('may differ from those of the file', () => {
    expect(edit('a\r\nb\r\nc\r\n', 'a\nb\n', 'a\nx\nb\n')).toMatchObject({
      text: 'a\r\nx\r\nb\r\nc\r\n',
      match: 'line-endings',
      line: 1,
    });
    expect(edit('a\nb\nc\n', 'a\r\nb', 'x').text).toBe('x\nc\n');
    // Also in the middle of lines.
    expect(edit('f(\r\n  b)', '(\n  b', '(\n  c').text).toBe('f(\r\n  c)');
  });

  it('of lines that stay are kept one by one', () => {
    const text = 'a\r\nb\nc\r\nd\n';
    expect(edit(text, 'a\nb\nc\nd', 'a\nnew\nb\nc\nd').text).toBe('a\r\nnew\r\nb\nc\r\nd\n');
    expect(edit(text, 'b\nc\n', 'b\n').text).toBe('a\r\nb\nd\n');
  });

  it('can be changed by whoever writes them out', () => {
    expect(edit('a\r\nb\r\n', 'a\r\n', 'a\n').text).toBe('a\nb\r\n');
    expect(edit('a\nb\n', 'a\n', 'a\r\n').text).toBe('a\r\nb\n');
  });

  it('that make two places one text are ambiguous', () => {
    expect(errorOf(() => edit('a\r\nb\r\na\r\nb\r\n', 'a\nb', 'x', true)).code).toBe(
      'AMBIGUOUS_MATCH',
    );
  });
});

describe('spaces at the ends of lines', () => {
  it('may differ in one place', () => {
    expect(edit('a  \nb\t\nc\n', 'a\nb\n', 'a\nx\n')).toMatchObject({
      text: 'a  \nx\nc\n',
      match: 'fuzzy',
    });
    expect(edit('a  \nb', 'a \nb', 'a \nc').text).toBe('a  \nc');
    expect(edit('q\na  ', 'q\na\n', 'q\nb\n').text).toBe('q\nb');
    expect(edit('q\na  \nz\n', 'a \n', '').text).toBe('q\nz\n');
    expect(edit('q\na  ', 'a \n', '').text).toBe('q\n');
  });

  it('are meant before a place with another indentation', () => {
    expect(edit('a  \nb\n  a\n  b\n', 'a \nb\n', 'c\n').text).toBe('c\n  a\n  b\n');
  });

  it('are not overlooked in several places', () => {
    const error = errorOf(() => edit('a  \nb\na\t\nb\n', 'a \nb', 'x'));
    expect(error.code).toBe('AMBIGUOUS_MATCH');
    expect(error.message).toContain('lines 1, 3');
  });

  it('do not make a part of a line match', () => {
    expect(errorOf(() => edit('xa  \nb\n', 'a\nb', 'c')).code).toBe('NO_MATCH');
  });
});

describe('indentation', () => {
  const text = 'if (a) {\n    b();\n\n    if (c) {\n      d();\n    }\n}\n';

  it('may be less than in the file by the same for all lines', () => {
    expect(edit(text, 'b();\n\nif (c) {\n  d();\n}', 'b();\nif (c) {\n  e();\n}\n')).toEqual({
      text: 'if (a) {\n    b();\n    if (c) {\n      e();\n    }\n\n}\n',
      count: 1,
      line: 2,
      match: 'fuzzy',
    });
  });

  it('may be more than in the file', () => {
    expect(edit('a\n  b\nc\n', '  a\n    b', '  a\n    x\n      y').text).toBe(
      'a\n  x\n    y\nc\n',
    );
    // A new line that cannot be moved so far to the left has no place.
    expect(errorOf(() => edit('a\n  b\nc\n', '  a\n    b', '  a\nx')).code).toBe('NO_MATCH');
  });

  it('is kept as it is in the file for lines that stay', () => {
    expect(edit('\ta  \n\t\tb\n', 'a\n\tb', 'a\n\tc').text).toBe('\ta  \n\t\tc\n');
  });

  it('must differ by the same for all lines', () => {
    expect(errorOf(() => edit('  a\n b\n', 'a\nb', 'x')).code).toBe('NO_MATCH');
    expect(errorOf(() => edit('\ta\n  b\n', ' a\nb', 'x')).code).toBe('NO_MATCH');
  });

  it('that fits several places is ambiguous', () => {
    const error = errorOf(() => edit('  a\n  b\n    a\n    b\n', 'a\nb', 'x\ny'));
    expect(error.code).toBe('AMBIGUOUS_MATCH');
  });

  it('of empty lines alone finds nothing', () => {
    expect(errorOf(() => edit('a\n  \n  \nb', ' \n \n', 'x')).code).toBe('NO_MATCH');
  });
});

describe('what is not there', () => {
  it('is answered with the closest lines and their numbers', () => {
    const text = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join('\n');
    const error = errorOf(() => edit(text, 'line 20\nline 21!\nline 22', 'x'));
    expect(error.code).toBe('NO_MATCH');
    expect(error.message).toContain('The closest lines are 20 to 22:\n20: line 20\n21: line 21');
  });

  it('is answered plainly when nothing is like it', () => {
    expect(errorOf(() => edit('a\nb\n', 'something else', 'x')).message).toContain(
      'No line of it is in the file',
    );
  });

  it('is never matched by likeness', () => {
    expect(errorOf(() => edit('foo(bar, baz);\n', 'foo(bar,baz);\n', 'x')).code).toBe('NO_MATCH');
    expect(errorOf(() => edit('foo();\n\n\nbar();\n', 'foo();\n\nbar();\n', 'x')).code).toBe(
      'NO_MATCH',
    );
  });
});

describe('any edit of a unique text', () => {
  const ends = fc.constantFrom('\n', '\r\n');
  const word = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 4 });

  it('changes the place alone and keeps every other line end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, ends), { maxLength: 8 }),
        fc.array(fc.tuple(word, ends), { maxLength: 8 }),
        fc.array(word, { minLength: 1, maxLength: 4 }),
        (before, after, lines) => {
          const head = before.map(([text, end]) => text + end).join('');
          const tail = after.map(([text, end]) => text + end).join('');
          const result = edit(`${head}<mark>${tail}`, '<mark>', `<${lines.join('\n')}>`).text;
          expect(result.startsWith(head)).toBe(true);
          expect(result.endsWith(tail)).toBe(true);
          const middle = result.slice(head.length, result.length - tail.length);
          expect(middle.replaceAll('\r\n', '\n')).toBe(`<${lines.join('\n')}>`);
        },
      ),
    );
  });
});
