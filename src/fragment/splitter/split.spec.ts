import { describe, expect, it } from '@jest/globals';
import { split } from './index.js';
import type { SourceBlock, SourceDocument, SourceKind } from './index.js';

interface Options {
  size?: number;
  overlap?: number;
  separator?: string;
}

function fragments(document: SourceDocument, { size, overlap, separator }: Options = {}) {
  return split(document, {
    textBlockSize: size ?? 1000,
    overlapChar: overlap ?? 0,
    separator: separator ?? '',
  });
}

function contents(kind: SourceKind, text: string, options: Options = {}): string[] {
  return fragments({ kind, text }, options).map(({ content }) => content);
}

describe('split, of text', () => {
  it('gives one fragment of a small document and none of a blank one', () => {
    expect(fragments({ kind: 'text', text: '\n\n  One.\n\nTwo. \n' }, { overlap: 50 })).toEqual([
      { content: '  One.\n\nTwo.', start: 2, end: 14, headings: [], location: 'lines 3-5' },
    ]);
    expect(contents('text', ' \n\u3000\n')).toEqual([]);
  });

  it('cuts between paragraphs, else sentences, else words, else characters', () => {
    expect(contents('text', 'One two. Three.\n\nFour. Five six.', { size: 20 })).toEqual([
      'One two. Three.',
      'Four. Five six.',
    ]);
    expect(contents('text', 'One two. Three four five. Six.', { size: 20 })).toEqual([
      'One two.',
      'Three four five.',
      'Six.',
    ]);
    expect(contents('text', 'one two three four five', { size: 10 })).toEqual([
      'one two',
      'three four',
      'five',
    ]);
    expect(contents('text', 'abcdefghij', { size: 4 })).toEqual(['abcd', 'efgh', 'ij']);
  });

  it('takes the dots of initials, numbers and items for no ends of sentences', () => {
    expect(contents('text', 'By J. Smith, e.g. of v1.2 today. New.', { size: 34 })).toEqual([
      'By J. Smith, e.g. of v1.2 today.',
      'New.',
    ]);
    expect(contents('text', 'By J. Smith, e.g. here again', { size: 18 })).toEqual([
      'By J. Smith, e.g.',
      'here again',
    ]);
  });

  it('ends Chinese and Japanese sentences at their marks, behind closing quotes', () => {
    expect(contents('text', '知识库很大。“检索快吗？”答案很短。', { size: 13 })).toEqual([
      '知识库很大。“检索快吗？”',
      '答案很短。',
    ]);
    expect(contents('text', '猫が好き！犬も好きです。', { size: 8 })).toEqual([
      '猫が好き！',
      '犬も好きです。',
    ]);
  });

  it('cuts Thai between words though no blank is there', () => {
    const [first] = contents('text', 'ภาษาไทยเป็นภาษาที่สวยงามมาก', { size: 12 });
    expect(first).toBe('ภาษาไทยเป็น');
  });

  it('cuts no line that goes on in lower case where a sentence ends near', () => {
    const text = 'A first sentence. A second one\nis wrapped here. Third.';
    expect(contents('text', text, { size: 38 })).toEqual([
      'A first sentence.',
      'A second one\nis wrapped here. Third.',
    ]);
  });

  it('never cuts a surrogate pair, nor what a reader sees as one character', () => {
    expect(contents('text', '👩‍👩‍👧x🇩🇪y', { size: 9 })).toEqual(['👩‍👩‍👧x', '🇩🇪y']);
    expect(contents('text', '𝒳𝒴', { size: 3 })).toEqual(['𝒳', '𝒴']);
    expect(contents('text', '𝒳𝒴', { size: 1 })).toEqual(['𝒳', '𝒴']);
  });

  it('repeats the end of the fragment before from a sentence or word that begins near', () => {
    const text = 'One two three four. Five six seven. Eight nine ten.';
    expect(contents('text', text, { size: 36, overlap: 17 })).toEqual([
      'One two three four. Five six seven.',
      'Five six seven. Eight nine ten.',
    ]);
    expect(contents('text', text, { size: 36, overlap: 8 })).toEqual([
      'One two three four. Five six seven.',
      'seven. Eight nine ten.',
    ]);
  });

  it.each([50, 100, 200, 400])('repeats %i characters where so many are asked for', (overlap) => {
    const sentence =
      'The warranty of a device lasts two years from the day on which it was bought. ';
    const paragraph = `${sentence.repeat(4).trim()}\n\n`;
    for (const text of [sentence.repeat(100), paragraph.repeat(25)]) {
      const found = fragments({ kind: 'text', text }, { size: 500, overlap });
      for (const [index, { start }] of found.slice(1).entries()) {
        const above = found[index] ?? { start, end: start };
        // A fragment is not repeated as a whole.
        const asked = Math.min(overlap, above.end - above.start - 1);
        expect(above.end - start).toBeLessThanOrEqual(asked);
        expect(above.end - start).toBeGreaterThanOrEqual(asked * 0.9 - 9);
      }
    }
  });

  it('repeats as much of a paragraph before one that would fit by itself', () => {
    const paragraphs = ['first', 'second', 'third'].map(
      (name) => `This is the ${name} one of them.`,
    );
    const text = paragraphs.join('\n');
    let at = 0;
    const blocks = paragraphs.map(({ length }): SourceBlock => {
      const start = at;
      at += length + 1;
      return { type: 'paragraph', start, end: start + length };
    });
    const found = fragments({ kind: 'document', text, blocks }, { size: 50, overlap: 20 });
    expect(found[1]?.content).toMatch(/^(?:first )?one of them\.\nThis is the second/);
  });

  it('repeats as much of a script without blanks', () => {
    const text =
      '公司自去年起实行弹性工作制员工可以在早上八点到十点之间开始工作并且可以在下午离开。'.repeat(
        30,
      );
    const found = fragments({ kind: 'text', text }, { size: 200, overlap: 60 });
    const repeated = found.slice(1).map(({ start }, index) => (found[index]?.end ?? 0) - start);
    expect(Math.min(...repeated)).toBeGreaterThanOrEqual(52);
  });

  it('says pages and lines', () => {
    const text = 'Page one.\nStill one.\nPage two.';
    const pages = { pageStarts: [0, 21] };
    const found = fragments({ kind: 'text', text, ...pages }, { size: 20 });
    expect(found.map(({ page, location }) => [page, location])).toEqual([
      [1, 'lines 1-2'],
      [2, 'line 3'],
    ]);
  });

  it('splits a single line of 10 MB', () => {
    const found = contents('text', 'x'.repeat(10_000_000), { overlap: 100, separator: '\\n' });
    expect(found).toHaveLength(Math.ceil((10_000_000 - 100) / 900));
  });
});

describe('split, by the separator of the knowledge base', () => {
  it('divides at every visible separator, however short the pieces', () => {
    expect(contents('text', 'one###two### ###three', { separator: '###' })).toEqual([
      'one###',
      'two###',
      '###',
      'three',
    ]);
  });

  it('begins a piece with a separator that text follows in its line', () => {
    const text = 'Intro\nQ: one?\nA: yes\nQ: two?\n-----\nEnd';
    expect(contents('text', text, { separator: 'Q:', overlap: 9 })).toEqual([
      'Intro',
      'Q: one?\nA: yes',
      'Q: two?\n-----\nEnd',
    ]);
    expect(contents('text', text, { separator: '-----' })).toEqual([
      'Intro\nQ: one?\nA: yes\nQ: two?\n-----',
      'End',
    ]);
  });

  it('reads the two characters \\n as a line feed, where a long text is rather cut', () => {
    const text = 'One. Two\nthree. Four. Five.';
    expect(contents('text', text, { separator: '\\n', size: 20 })).toEqual([
      'One. Two',
      'three. Four. Five.',
    ]);
    expect(contents('text', text, { size: 20 })).toEqual(['One. Two\nthree.', 'Four. Five.']);
    expect(contents('text', text, { separator: '\\n' })).toEqual([text]);
  });

  it('does not divide rows', () => {
    const text = '| a | b |\n|---|---|\n| 1;2 | 3 |\n| 4 | 5 |';
    expect(contents('markdown', text, { separator: ';' })).toEqual([text]);
  });
});

describe('split, of Markdown', () => {
  const prose = (letter: string, length: number) => `${letter.repeat(length - 1)}.`;

  it('keeps sections apart that do not fit together, with the headings above each', () => {
    const text = `# Guide\n\n## Setup\n\n${prose('a', 60)}\n\nUse\n===\n\n${prose('b', 60)}`;
    expect(fragments({ kind: 'markdown', text }, { size: 90, overlap: 20 })).toEqual([
      {
        content: `# Guide\n\n## Setup\n\n${prose('a', 60)}`,
        start: 0,
        end: 79,
        headings: ['Guide', 'Setup'],
        location: 'lines 1-5',
      },
      {
        content: `Use\n===\n\n${prose('b', 60)}`,
        start: 81,
        end: 150,
        headings: ['Use'],
        location: 'lines 7-10',
      },
    ]);
  });

  it('joins small neighbours under one heading, which then is the heading of both', () => {
    const text = `# Guide\n${prose('a', 80)}\n## One\nFirst.\n## Two\nSecond.\n# Other\nThird.`;
    const found = fragments({ kind: 'markdown', text }, { size: 100 });
    expect(found.map(({ headings, content }) => [headings, content.length])).toEqual([
      [['Guide'], 88],
      [['Guide'], 28],
      [['Other'], 14],
    ]);
  });

  it('never ends a fragment with a heading whose text follows', () => {
    const text = `${prose('a', 70)}\n\n# Next\n\n${'word '.repeat(40)}`;
    const found = contents('markdown', text, { size: 100 });
    expect(found[0]).toBe(prose('a', 70));
    expect(found[1]).toMatch(/^# Next\n\nword /);
  });

  it('takes the hashes and lines in fenced code for no headings, and keeps a fence whole', () => {
    const fence = `\`\`\`sh\n# not a heading\nls\n\nrm x\n\`\`\``;
    const text = `# One\n\n${prose('a', 50)}\n\n${fence}\n\n${prose('b', 50)}`;
    const found = fragments({ kind: 'markdown', text }, { size: 80 });
    expect(found.map(({ headings }) => headings)).toEqual([['One'], ['One'], ['One']]);
    expect(found[1]?.content).toBe(fence);
  });

  it('reads no heading out of front matter, rules, lists and deeper hashes', () => {
    const text = `---\ntitle: x\n---\n# Real #\n- item\n---\n#tag\n    # code\n####### seven\n\nEnd.`;
    const found = fragments({ kind: 'markdown', text }, { size: 30 });
    expect(found.map(({ headings }) => headings)).toEqual([[], ['Real'], ['Real']]);
    expect(found[0]?.content).toBe(`---\ntitle: x\n---`);
  });

  it.each(['    ', '\t', '  \t'])('reads no heading out of code indented by "%s"', (indent) => {
    const lines = ['Real', '====', 'Text.', '', '# comment', 'a = 1', '====', 'End.'];
    const text = lines.map((line, at) => (at < 4 ? line : `${indent}${line}`)).join('\n');
    const found = fragments({ kind: 'markdown', text });
    expect(found.map(({ headings }) => headings)).toEqual([['Real']]);
  });

  it('keeps a table whole where it fits, else repeats its header above whole rows', () => {
    const header = '| name | value |\n|------|-------|';
    const rows = ['| a | 1 |', '| b | 2 |', '| c | 3 |', '| d | 4 |'];
    const text = `Text above.\n\n${[header, ...rows].join('\n')}\n\nText below.`;
    expect(contents('markdown', text, { size: 90 })[0]).toContain(rows.join('\n'));
    expect(contents('markdown', text, { size: 73 })).toEqual([
      'Text above.',
      [header, ...rows].join('\n'),
      'Text below.',
    ]);
    expect(contents('markdown', text, { size: 60, overlap: 20 })).toEqual([
      `Text above.\n\n${header}\n| a | 1 |`,
      `${header}\n| b | 2 |\n| c | 3 |`,
      `${header}\n| d | 4 |\n\nText below.`,
    ]);
  });
});

describe('split, of code', () => {
  it('keeps functions whole with their comments, whatever the language', () => {
    const braces = 'import a;\n\n// One.\nfunction one() {\n  a();\n\n  b();\n}\nfunction two() {}';
    expect(contents('code', braces, { size: 50, overlap: 20 })).toEqual([
      'import a;',
      '// One.\nfunction one() {\n  a();\n\n  b();\n}',
      'function two() {}',
    ]);
    const indents = 'import a\n\n@fast\ndef one():\n    a()\n\n    b()\ndef two():\n    c()';
    expect(contents('code', indents, { size: 38 })).toEqual([
      'import a',
      '@fast\ndef one():\n    a()\n\n    b()',
      'def two():\n    c()',
    ]);
  });

  it('cuts a long class before its least indented lines and keeps the indentation', () => {
    const text =
      'class A {\n  one() {\n    a();\n\n    b();\n  }\n\n  two() {\n    c();\n    d();\n  }\n}';
    expect(contents('code', text, { size: 55 })).toEqual([
      'class A {\n  one() {\n    a();\n\n    b();\n  }',
      '  two() {\n    c();\n    d();\n  }\n}',
    ]);
  });

  it('repeats whole lines of a part that is cut', () => {
    const text = 'function one() {\n  first();\n  second();\n  third();\n  fourth();\n}';
    expect(contents('code', text, { size: 40, overlap: 14 })).toEqual([
      'function one() {\n  first();\n  second();',
      '  second();\n  third();\n  fourth();\n}',
    ]);
  });
});

describe('split, of JSON', () => {
  it('cuts between the outermost values that fit, and reads brackets in strings as text', () => {
    const text = '[{"a":"],["},{"b":[1,2,3]},{"c":"\\"},"}]';
    expect(contents('json', text, { size: 28, overlap: 10 })).toEqual([
      '[{"a":"],["},{"b":[1,2,3]},',
      '{"c":"\\"},"}]',
    ]);
    expect(contents('json', text, { size: 16 })).toEqual([
      '[{"a":"],["},',
      '{"b":[1,2,3]},',
      '{"c":"\\"},"}]',
    ]);
  });

  it('keeps the values of lines whole', () => {
    const text = '{"a":1}\n{"b":"long long text","c":[1,2]}\n{"d":2}\n';
    expect(contents('json', text, { size: 36 })).toEqual([
      '{"a":1}',
      '{"b":"long long text","c":[1,2]}',
      '{"d":2}',
    ]);
  });

  it('cuts within a value that does not fit, from the outside in', () => {
    const text = '{"list":[[1,2,3],[4,5,6],[7,8,9]],"x":1}';
    expect(contents('json', text, { size: 26 })).toEqual([
      '{"list":[[1,2,3],[4,5,6],',
      '[7,8,9]],"x":1}',
    ]);
  });
});

describe('split, of tables', () => {
  interface Row {
    type?: 'table-header' | 'table-row';
    text: string;
    sheet?: string;
    row: number;
    columns?: number;
  }

  function table(rows: readonly Row[]): SourceDocument {
    let text = '';
    const blocks = rows.map<SourceBlock>(
      ({ type = 'table-row', text: cells, sheet, row, columns = 2 }) => {
        const start = text.length;
        text += `${cells}\n`;
        const end = text.length - 1;
        const named = sheet === undefined ? {} : { sheet };
        return { type, start, end, row, columns, ...named };
      },
    );
    return { kind: 'table', text, blocks };
  }

  const header = (sheet?: string): Row => ({
    type: 'table-header',
    text: 'name,value',
    row: 1,
    ...(sheet && { sheet }),
  });

  it('repeats the header above whole rows and says which cells they are', () => {
    const rows = [2, 3, 4, 5, 6].map((row) => ({ text: `row ${row},x`, sheet: 'Sheet1', row }));
    const wide = { text: 'row 7,x', sheet: 'Sheet1', row: 7, columns: 28 };
    const found = fragments(table([header('Sheet1'), ...rows, wide]), { size: 30, overlap: 15 });
    expect(found.map(({ content, location }) => [location, content])).toEqual([
      ['Sheet1!A2:B3', 'name,value\nrow 2,x\nrow 3,x'],
      ['Sheet1!A4:B5', 'name,value\nrow 4,x\nrow 5,x'],
      ['Sheet1!A6:AB7', 'name,value\nrow 6,x\nrow 7,x'],
    ]);
  });

  it('keeps sheets apart, each with its own header, however small', () => {
    const document = table([
      header('A'),
      { text: '1', sheet: 'A', row: 2 },
      { type: 'table-header', text: 'other', sheet: "B's c", row: 1 },
      { text: '2', sheet: "B's c", row: 2 },
      { text: '3', sheet: 'C', row: 4 },
    ]);
    expect(fragments(document).map(({ content, location }) => [location, content])).toEqual([
      ['A!A2:B2', 'name,value\n1'],
      ["'B''s c'!A2:B2", 'other\n2'],
      ['C!A4:B4', '3'],
    ]);
  });

  it('repeats no header above the rows of a table right below', () => {
    const document = table([
      header(),
      { text: 'a,11111', row: 2 },
      { text: 'b,2', row: 1 },
      { text: 'c,3', row: 2 },
      { ...header(), text: 'third,x' },
      { ...header(), text: 'fourth,x' },
      { text: 'd,44444', row: 2 },
      { text: 'e,5', row: 3 },
    ]);
    const found = fragments({ ...document, kind: 'document' }, { size: 18 });
    expect(found.map(({ content }) => content)).toEqual([
      'name,value\na,11111',
      'b,2\nc,3',
      'third,x',
      'fourth,x\nd,44444',
      'fourth,x\ne,5',
    ]);
  });

  it('drops the header of a row that fits only without, and cuts a row that fits not even alone', () => {
    const long = { text: 'a row of 25 characters,xx', row: 2 };
    const longest = { text: 'a row of thirty-two characters,x', row: 3 };
    const last = { text: 'short,x', row: 4 };
    const found = fragments(table([header(), long, longest, last]), { size: 30, overlap: 9 });
    expect(found.map(({ content, location }) => [location, content])).toEqual([
      ['row 1', 'name,value'],
      ['row 2', 'a row of 25 characters,xx'],
      ['row 3', 'a row of thirty-two'],
      ['row 3', 'characters,x'],
      ['row 4', 'name,value\nshort,x'],
    ]);
  });
});

describe('split, of documents with given blocks', () => {
  const text = 'Title\nFirst paragraph.\nSecond paragraph.\nh1;h2\na;b\nc;d\nEnd.';
  const blocks: SourceBlock[] = [
    { type: 'heading', start: 0, end: 5, level: 1 },
    { type: 'paragraph', start: 6, end: 22 },
    { type: 'paragraph', start: 23, end: 40 },
    { type: 'table-header', start: 41, end: 46, row: 1, columns: 2 },
    { type: 'table-row', start: 47, end: 50, row: 2, columns: 2 },
    { type: 'table-row', start: 51, end: 54, row: 3, columns: 2 },
  ];

  it('packs paragraphs and rows under their heading; what is in no block is prose', () => {
    const document: SourceDocument = { kind: 'document', text, blocks, pageStarts: [0, 23] };
    const found = fragments(document, { size: 24, overlap: 4 });
    expect(found.map(({ content, location, page }) => [page, location, content])).toEqual([
      [1, undefined, 'Title\nFirst paragraph.'],
      [2, undefined, 'Second paragraph.'],
      [2, undefined, 'h1;h2\na;b\nc;d\nEnd.'],
    ]);
    expect(found.every(({ headings }) => headings.join() === 'Title')).toBe(true);
  });

  it('copes with blocks that overlap, are empty or reach beyond the text', () => {
    const odd: SourceBlock[] = [
      { type: 'paragraph', start: 0, end: 10 },
      { type: 'paragraph', start: 5, end: 8 },
      { type: 'heading', start: 9, end: 500, level: 99 },
    ];
    expect(contents('document', text)).toEqual([text]);
    const [first] = fragments({ kind: 'document', text, blocks: odd });
    expect(first?.content).toBe(text);
  });
});
