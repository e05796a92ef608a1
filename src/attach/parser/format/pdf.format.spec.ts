import { deflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  customPdf,
  eastAsianPages,
  encryptedPdf,
  filledForm,
  glyphPdf,
  pdfStream,
  pdfWithContents,
  placedPdf,
} from '../../../../test/support/documents/pdf.js';
import type { DrawnLine, PlacedText } from '../../../../test/support/documents/pdf.js';
import { havePdfReaders, PdfWords } from '../../../../test/support/documents/pdf-words.js';
import type { TableBlock } from '../../../fragment/splitter/index.js';
import { readPdf } from './pdf.format.js';

const LIMITS = { pages: 100, unpackedBytes: 2 ** 20 };

const SENTENCE = 'The contract of employment ends with';

/** All PDFs of this suite that are read. */
const words = new PdfWords();

async function read(bytes: Buffer) {
  const { source } = await readPdf(bytes, LIMITS);
  words.add(bytes, source);
  return source;
}

async function textOf(pages: readonly (readonly PlacedText[])[], lines?: readonly DrawnLine[]) {
  return (await read(placedPdf(pages, lines))).text;
}

/** Lines of full width below each other, each of which begins with the mark and its number. */
function columnOf(mark: string, x: number, y: number, count: number): PlacedText[] {
  return Array.from({ length: count }, (_, index) => ({
    text: `${mark}${index} ${SENTENCE}`,
    x,
    y: y - index * 12,
  }));
}

function marks(text: string): string[] {
  return [...text.matchAll(/\b[LRH]\d*(?= )/g)].map(([mark]) => mark);
}

/** The rows of cells at these places, row by row. */
function rowsOf(
  rows: readonly (readonly string[])[],
  xs: readonly number[],
  y = 700,
): PlacedText[] {
  return rows.flatMap((cells, row) =>
    cells.map((text, column) => ({ text, x: xs[column] ?? 0, y: y - row * 14 })),
  );
}

const CITIES = [
  ['Country', 'City', 'Days'],
  ['Germany', 'Berlin', '30'],
  ['Norway', 'Oslo', '25'],
  ['Japan', 'Tokyo', '20'],
];

describe('columns', () => {
  it('reads one after the other, in bands between lines of full width', async () => {
    const text = await textOf([
      [
        { text: `H1 ${SENTENCE} ${SENTENCE} notice`, x: 60, y: 760, size: 14 },
        ...columnOf('L', 60, 720, 8),
        ...columnOf('R', 320, 726, 8),
        { text: `H2 ${SENTENCE} ${SENTENCE} notice`, x: 60, y: 600, size: 14 },
        ...columnOf('L', 60, 570, 6),
        ...columnOf('R', 320, 570, 6),
      ],
    ]);
    const numbered = (mark: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${mark}${index}`);
    expect(marks(text)).toEqual([
      ...['H1', ...numbered('L', 8), ...numbered('R', 8)],
      ...['H2', ...numbered('L', 6), ...numbered('R', 6)],
    ]);
  });

  it('reads a table over both columns row by row', async () => {
    const rows = Array.from({ length: 5 }, (_, row) =>
      ['a', 'b', 'c', 'd'].map((column) => `${column}${row}`),
    );
    const text = await textOf([
      [
        ...rowsOf(rows, [60, 190, 320, 450], 760),
        {
          text: 'Table 1. The values of all of the departments in this year and the last one.',
          x: 60,
          y: 680,
        },
        ...columnOf('L', 60, 640, 8),
        ...columnOf('R', 320, 640, 8),
      ],
    ]);
    for (const row of rows) expect(text).toContain(row.join(' | '));
    expect(marks(text).slice(0, 9)).toEqual(['L0', 'L1', 'L2', 'L3', 'L4', 'L5', 'L6', 'L7', 'R0']);
  });
});

describe('tables', () => {
  it('reads rows whose cells are drawn column by column', async () => {
    const drawn = rowsOf(CITIES, [60, 200, 300]).toSorted((a, b) => a.x - b.x);
    const source = await read(placedPdf([drawn]));
    expect(source.text).toBe(CITIES.map((row) => row.join(' | ')).join('\n'));
    expect(source.blocks?.map(({ type }) => type)).toEqual([
      'table-header',
      ...CITIES.slice(1).map(() => 'table-row'),
    ]);
  });

  it('keeps the lines of a cell together, by drawn lines and by gaps', async () => {
    const cells: PlacedText[] = [
      ...rowsOf([['Country', 'Rule']], [60, 200], 700),
      { text: 'Germany', x: 60, y: 674 },
      { text: 'Thirty days for', x: 200, y: 680 },
      { text: 'every full year', x: 200, y: 668 },
      { text: 'Norway', x: 60, y: 634 },
      { text: 'Twenty-five', x: 200, y: 646 },
      { text: 'days, and one', x: 200, y: 634 },
      { text: 'more at sixty', x: 200, y: 622 },
      { text: 'Japan', x: 60, y: 594 },
      { text: 'Twenty days', x: 200, y: 600 },
      { text: 'after six years', x: 200, y: 588 },
    ];
    const expected = [
      'Country | Rule',
      'Germany | Thirty days for every full year',
      'Norway | Twenty-five days, and one more at sixty',
      'Japan | Twenty days after six years',
    ].join('\n');
    expect(await textOf([cells])).toBe(expected);
    const ys = [712, 693, 659, 612, 580];
    const xs = [50, 190, 300];
    const grid: DrawnLine[] = [
      ...ys.map((y): DrawnLine => [50, y, 300, y]),
      ...xs.map((x): DrawnLine => [x, 580, x, 712]),
    ];
    expect(await textOf([cells], grid)).toBe(expected);
  });

  it('keeps the lines of a cell that stand above and below the rest of its row', async () => {
    const cells = Array.from({ length: 4 }, (_, row) => {
      const top = 760 - row * 66;
      return [
        { text: `Country${row}`, x: 60, y: top - 24 },
        { text: String(1000 + row), x: 160, y: top - 24 },
        ...['first', 'second', 'third', 'fourth', 'fifth'].map((word, line) => ({
          text: `the ${word} line`,
          x: 220,
          y: top - line * 12,
        })),
      ];
    });
    const rows = (await textOf([cells.flat()])).split('\n');
    expect(rows).toHaveLength(4);
    expect(rows[0]).toMatch(/^Country0 \| 1000 \| the first line .* the fifth line$/);
    expect(rows[3]).toMatch(/^Country3 \| 1003 \| the first line .* the fifth line$/);
  });

  it('goes on with a table at the top of the next page, whose head is not repeated', async () => {
    const source = await read(
      placedPdf([
        rowsOf(CITIES, [60, 200, 300]),
        rowsOf(
          [CITIES[0] ?? [], ['Peru', 'Lima', '15'], ['Kenya', 'Nairobi', '21']],
          [60, 200, 300],
        ),
      ]),
    );
    expect(source.text.match(/Country/g)).toHaveLength(1);
    const rows = source.blocks as readonly TableBlock<'table-row'>[];
    expect(rows.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(source.text.slice(source.pageStarts?.[1])).toMatch(/^Peru \| Lima \| 15/);
  });

  it('takes a list for text, and its marks for no column', async () => {
    const items = ['one thing', 'another thing', 'the last thing'];
    const text = await textOf([
      items.flatMap((item, index) => [
        { text: `${index + 1}.`, x: 60, y: 700 - index * 14 },
        { text: item, x: 90, y: 700 - index * 14 },
      ]),
    ]);
    expect(text).toBe('1. one thing\n2. another thing\n3. the last thing');
  });
});

describe('headers and footers', () => {
  const page = (number: number, above = 'Employee Handbook'): PlacedText[] => [
    { text: above, x: 60, y: 800 },
    { text: `The text of page ${'abcdefgh'[number]} begins here`, x: 60, y: 740 },
    { text: 'and goes on below it.', x: 60, y: 728 },
    { text: `Page ${number + 1} of 4`, x: 280, y: 40 },
  ];

  const once = (text: string, part: string) => text.split(part).length - 1;

  it('are kept once, at their first places, and page numbers with them', async () => {
    const text = await textOf([0, 1, 2, 3].map((number) => page(number)));
    expect(text).toBe(
      [
        'Employee Handbook',
        'The text of page a begins here\nand goes on below it.',
        'Page 1 of 4',
        ...['b', 'c', 'd'].map(
          (letter) => `The text of page ${letter} begins here\nand goes on below it.`,
        ),
      ].join('\n\n'),
    );
  });

  it('are kept where they differ by more than the page number', async () => {
    const pages = [0, 1, 2, 3].map((number) => [
      ...page(number, `Chapter ${'abcd'[number]}`).slice(0, 3),
      { text: String(number + 17), x: 500, y: 800 },
    ]);
    const text = await textOf(pages);
    expect(text.match(/Chapter [a-d] \d+/g)).toEqual([
      'Chapter a 17',
      'Chapter b 18',
      'Chapter c 19',
      'Chapter d 20',
    ]);
  });

  it('are text on two pages, however much they say', async () => {
    const memo = (depot: string) =>
      [
        ['June 2, 2026', 721],
        ['To the regional managers:', 697],
        [`The depot in ${depot} received 120 pallets of water and`, 649],
        ['will be closed for stocktaking on Friday.', 625],
        ['Kind regards,', 577],
      ].map(([text, y]) => ({ text: String(text), x: 72, y: Number(y), size: 12 }));
    const text = await textOf([memo('Oslo'), memo('Bergen')]);
    for (const { text: line } of memo('Oslo').toSpliced(2, 1)) expect(once(text, line)).toBe(2);
  });

  it('are part of no paragraph, and nothing further inside is one', async () => {
    const pages = ['a', 'b', 'c', 'd'].map((letter) => [
      { text: 'The first line of the page is always the same', x: 60, y: 800 },
      { text: `and goes on with ${letter} below it.`, x: 60, y: 788 },
      { text: 'Signed by all of us', x: 60, y: 600 },
      { text: `Revision ${letter}`, x: 60, y: 70 },
      { text: 'Between the text and what differs', x: 60, y: 110 },
    ]);
    const text = await textOf(pages);
    expect(once(text, 'always the same')).toBe(4);
    expect(once(text, 'Signed by all of us')).toBe(4);
    expect(once(text, 'Between the text')).toBe(4);
  });

  it('are those of odd and of even pages, and of sections', async () => {
    const pages = Array.from({ length: 8 }, (_, number): PlacedText[] => {
      const title = {
        text: number % 2 ? 'The Book of Fish' : 'Eels',
        x: number % 2 ? 60 : 400,
        y: 810,
      };
      const part = { text: number < 4 ? 'Rivers' : 'Lakes', x: 60, y: 30 };
      const count = { text: String(number + 1), x: number % 2 ? 500 : 540, y: 30 };
      return [title, ...page(number % 4).slice(1, 3), part, count];
    });
    const text = await textOf(pages);
    for (const line of ['The Book of Fish', 'Eels', 'Rivers 1', 'Lakes 5']) {
      expect(once(text, line)).toBe(1);
    }
    expect(text.match(/\b\d\b/g)).toEqual(['1', '5']);
  });

  it.each([
    ['Roman', ['i', 'ii', 'iii', 'iv']],
    ['marked', ['- 7 -', '- 8 -', '- 9 -', '- 10 -']],
    ['of all', ['1 / 4', '2 / 4', '3 / 4', '4 / 4']],
    ['beside the title', ['Terms | 1', 'Terms | 2', 'Terms | 3', 'Terms | 4']],
    ['named', ['Terms, S. 21', 'Terms, S. 22', 'Terms, S. 23', 'Terms, S. 24']],
  ])('may be page numbers: %s', async (_, numbers) => {
    const pages = numbers.map((text, number) => [
      ...page(number).slice(1, 3),
      { text, x: 280, y: 40 },
    ]);
    const text = await textOf(pages);
    expect(numbers.filter((number) => text.split('\n').includes(number))).toEqual([numbers[0]]);
  });

  it.each([
    ['Invoice 2026-1', 'Invoice 2026-2', 'Invoice 2026-3'],
    ['Chapter 1', 'Chapter 2', 'Chapter 3'],
    ['Customer no:|1001', 'Customer no:|1002', 'Customer no:|1003'],
    ['Letter|1', 'Letter|2', 'Letter|3'],
    ['1.|What is an eel?', '2.|What is a trout?', '3.|What is a pike?'],
  ])('are not %s, although it counts with the pages', async (...titles) => {
    const pages = titles.map((title, number) => [
      ...title.split('|').map((text, part) => ({ text, x: 60 + 90 * part, y: 800 })),
      ...page(number).slice(1, 3),
    ]);
    const text = await textOf(pages);
    for (const title of titles) expect(text).toContain(title.replace('|', ' '));
  });

  it('are read in Chinese', async () => {
    const number = (page: number) => `第 ${page + 1} 页 共 3 页`;
    const text = await read(
      eastAsianPages(
        [0, 1, 2].map((page) => [
          ['员工手册', 810],
          ['劳动合同期限', 700],
          [number(page), 30],
        ]),
      ),
    );
    expect(text.text.split('\n\n')).toEqual([
      '员工手册',
      '劳动合同期限',
      number(0),
      '劳动合同期限',
      '劳动合同期限',
    ]);
  });

  it('are kept where they are all that the pages have, or differ', async () => {
    const only = (text: string) => [{ text, x: 60, y: 800 }];
    expect(await textOf(['Page 1', 'Page 2', 'Page 3'].map(only))).toBe(
      'Page 1\n\nPage 2\n\nPage 3',
    );
    const forms = ['Invoice 4711', 'Invoice 4712', 'Invoice 4713'].map((title, number) =>
      page(number, title),
    );
    expect(await textOf(forms)).toContain('Invoice 4712');
  });

  it('stand before and behind a table that goes on over pages', async () => {
    const pages = [0, 1, 2].map((number) => [
      { text: 'Price list', x: 60, y: 800 },
      ...rowsOf(
        [
          ['Country', 'City', 'Days'],
          ...CITIES.slice(1).map(([land = '', ...rest]) => [`${land}${number}`, ...rest]),
        ],
        [60, 200, 300],
      ),
      { text: String(number + 1), x: 300, y: 40 },
    ]);
    const source = await read(placedPdf(pages));
    const rows = source.blocks as readonly TableBlock<'table-row'>[];
    expect(rows.slice(1, -1).map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(source.text).toMatch(
      /^Price list\n\nCountry \| City \| Days\n[^]*\nJapan2 \| Tokyo \| 20\n\n1$/,
    );
  });

  it('are not the head of a table that each page repeats', async () => {
    const pages = [1, 2, 3].map((number) =>
      rowsOf(
        [
          ['Country', 'City', 'Days'],
          [`Land${number}`, `Town${number}`, `${number}1`],
          [`Area${number}`, `Port${number}`, `${number}2`],
        ],
        [60, 200, 300],
        800,
      ),
    );
    expect(await textOf(pages)).toContain('Country | City | Days\nLand1 | Town1 | 11');
  });
});

describe('hyphens at the ends of lines', () => {
  const linesAt = (lines: readonly string[]) =>
    lines.map((text, index) => ({ text, x: 60, y: 740 - index * 12 }));

  it('join a word that the document writes in one piece, and keep what is a compound', async () => {
    const text = await textOf([
      linesAt([
        'The employment ends. It is cost-effective to end an employ-',
        'ment, and a decision for the cost-',
        'effective way needs an un-',
        'known reason.',
      ]),
    ]);
    expect(text).toContain('to end an employment,\nand a decision for the cost-effective\nway');
    expect(text).toContain('needs an un-\nknown reason.');
  });

  it('join a word in capitals that the document writes in one piece', async () => {
    const text = await textOf([
      linesAt([
        'A SEQUENCE holds values, and each SE-',
        'QUENCE has an end, as the rules of ISO-',
        'IEC say.',
      ]),
    ]);
    expect(text).toContain('each SEQUENCE\nhas an end, as the rules of ISO-\nIEC say.');
  });

  it('join the halves of a word that two columns or pages divide', async () => {
    const first = [...linesAt(['The regulation holds.', 'Every other regu-'])];
    expect(await textOf([first, linesAt(['lation does not.', 'The end.'])])).toBe(
      'The regulation holds.\nEvery other regulation\n\ndoes not.\nThe end.',
    );
  });
});

describe('right-to-left text', () => {
  it('is read in logical order, with ligatures and other forms as letters', async () => {
    // A ligature of two letters by its map, one by its code, and letters in their initial and final forms.
    const visual = [
      '\ufee1',
      '\u0644\u0627',
      '\ufeb4',
      '\ufedf',
      '\u0627',
      ' ',
      '\ufefb',
      '(',
      '3',
      '0',
      ')',
    ];
    const text = (await read(glyphPdf(visual))).text;
    expect(text).toBe('(30)لا السلام');
  });

  it('keeps words and numbers of the other direction in theirs', async () => {
    const visual = [...'בוט', ' ', ...'Word 12.5', ' ', ...'םלוע', ' ', ...'םולש'];
    expect((await read(glyphPdf(visual))).text).toBe('שלום עולם Word 12.5 טוב');
  });
});

describe('layers', () => {
  const line = (text: string, y: number) => `BT /F1 12 Tf 60 ${y} Td (${text}) Tj ET`;

  it('that are off are left out, and all that stands in them', async () => {
    const content = [
      line('Shown to all.', 700),
      `/OC /Off BDC ${line('A draft,', 680)} /Span BMC ${line('in parts.', 660)} EMC EMC`,
      `/OC /On BDC ${line('A layer that is on.', 640)} EMC`,
      `/OC /Any BDC ${line('Of one that is on and one that is not.', 620)} EMC`,
      `/OC /All BDC ${line('Of both.', 600)} EMC`,
      '/Form Do',
      line('The end.', 560),
    ];
    const bytes = customPdf(content.join('\n'), {
      catalog: '/OCProperties << /OCGs [6 0 R 7 0 R] /D << /OFF [6 0 R] /Order [] >> >>',
      resources:
        '/Properties << /Off 6 0 R /On 7 0 R /Any 8 0 R /All 9 0 R >> /XObject << /Form 10 0 R >>',
      objects: [
        '<< /Type /OCG /Name (Off) >>',
        '<< /Type /OCG /Name (On) >>',
        '<< /Type /OCMD /OCGs [6 0 R 7 0 R] >>',
        '<< /Type /OCMD /OCGs [6 0 R 7 0 R] /P /AllOn >>',
        pdfStream(
          line('A form of the draft.', 580),
          '/Type /XObject /Subtype /Form /BBox [0 0 595 842] /OC 6 0 R /Resources << /Font << /F1 3 0 R >> >>',
        ),
      ],
    });
    expect((await read(bytes)).text.split(/\n+/)).toEqual([
      'Shown to all.',
      'A layer that is on.',
      'Of one that is on and one that is not.',
      'The end.',
    ]);
  });

  it('do not count invisible text, such as that behind a scan', async () => {
    const content = `BT 3 Tr /F1 12 Tf 60 700 Td (Recognised text.) Tj ET`;
    expect((await read(customPdf(content))).text).toBe('Recognised text.');
  });
});

describe('forms', () => {
  const labels = ['Name:', 'City:', 'Signed by the applicant'].map((text, index) => ({
    text,
    x: 60,
    y: 700 - index * 30,
  }));
  const fieldsOf = (drawn: boolean) =>
    ['Jane Doe', 'Oslo'].map((value, index) => ({ value, x: 100, y: 695 - index * 30, drawn }));

  it.each([
    ['draws', true],
    ['does not draw', false],
  ])('have the values that the file %s where they stand', async (_, drawn) => {
    expect((await read(filledForm(labels, fieldsOf(drawn)))).text).toBe(
      'Name: Jane Doe\nCity: Oslo\nSigned by the applicant',
    );
  });

  it('of scanned pages are no text', async () => {
    await expect(read(filledForm([], fieldsOf(true)))).rejects.toThrow('scanned images');
  });
});

describe('text that stands for what is shown (ActualText)', () => {
  const utf16 = (text: string) => `<feff${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`;
  const shown = (text: string, x = 60) => `BT /F1 12 Tf ${x} 700 Td (${text}) Tj ET`;

  it.each([
    ['in the content', '<< /ActualText (office) >>', {}],
    ['in another encoding', `<< /Lang (en) /ActualText ${utf16('office')} >>`, {}],
    [
      'in a property list',
      '/Properties0',
      {
        resources: '/Properties << /Properties0 6 0 R >>',
        objects: ['<< /ActualText (office) >>'],
      },
    ],
    [
      'in the structure',
      '<< /MCID 3 >>',
      { objects: ['<< /Type /StructElem /S /Span /ActualText (office) /Pg 4 0 R /K 3 >>'] },
    ],
  ])('is read, %s', async (_, properties, parts) => {
    const content = `${shown('The')} /Span ${properties} BDC ${shown('o&ce', 90)} EMC ${shown('is closed.', 130)}`;
    expect((await read(customPdf(content, parts))).text).toBe('The office is closed.');
  });

  it('is read in packed streams and in forms', async () => {
    const content = `${shown('One')} /Span << /ActualText (two) >> BDC ${shown('2', 90)} EMC`;
    const bytes = pdfWithContents([
      { content: deflateSync(Buffer.from(content)), filter: 'FlateDecode' },
      { content: Buffer.from(content) },
    ]);
    expect((await read(bytes)).text).toBe('One two\n\nOne two');
    const form = customPdf('/Form Do', {
      resources: '/XObject << /Form 6 0 R >>',
      objects: [
        pdfStream(
          content,
          '/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>',
        ),
      ],
    });
    expect((await read(form)).text).toBe('One two');
  });

  it('may stand for a drawing and for an image', async () => {
    const content = `/Figure << /ActualText (Acme) >> BDC 60 760 m 160 780 l 160 760 l f EMC ${shown('The text.')} /Figure << /ActualText (& Sons) >> BDC q 40 0 0 30 60 600 cm /I Do Q EMC`;
    const bytes = customPdf(content, {
      resources: '/XObject << /I 6 0 R >>',
      objects: [
        pdfStream(
          'abc',
          '/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceRGB /BitsPerComponent 8',
        ),
      ],
    });
    expect((await read(bytes)).text.split(/\n+/)).toEqual(['Acme', 'The text.', '& Sons']);
  });

  it('may be empty, or stand for several lines and pieces', async () => {
    const lines = [
      `/Artifact << /ActualText () >> BDC ${shown('17', 30)} EMC ${shown('The line,', 60)}`,
      `/P << /ActualText (and what (all) of it says.) >> BDC BT /F1 12 Tf 60 680 Td (&) Tj 12 0 Td /Span BMC (w) Tj EMC 0 -14 Td (a) Tj ET EMC`,
      'BT /F1 12 Tf 60 640 Td (The end.) Tj ET',
    ];
    expect((await read(customPdf(lines.join('\n')))).text.split(/\n+/)).toEqual([
      'The line,',
      'and what (all) of it says.',
      'The end.',
    ]);
  });
});

describe('a file that is cut off', () => {
  const pages = ['one', 'two', 'three'].map((page) => [
    { text: `The text of page ${page}`, x: 60, y: 700 },
    { text: 'goes on below.', x: 60, y: 688 },
  ]);
  const whole = placedPdf(pages);
  const cut = (mark: string, from = 0) =>
    whole.subarray(0, whole.indexOf(mark, from) + Math.floor(mark.length / 2));

  it.each(['xref', '00000 n ', 'trailer', '/Root'])(
    'in its end (%s) has all of its text',
    async (mark) => {
      expect((await read(cut(mark))).text).toBe((await read(whole)).text);
    },
  );

  it('in a page has what stands before', async () => {
    const { text } = await read(cut('goes on', whole.indexOf('of page two')));
    expect(text.trim()).toBe('The text of page one\ngoes on below.\n\nThe text of page two');
  });

  it('before a page has the pages before it', async () => {
    const { text } = await read(cut('/MediaBox', whole.indexOf('of page two')));
    expect(text.trim()).toBe(
      'The text of page one\ngoes on below.\n\nThe text of page two\ngoes on below.',
    );
  });

  it('before its catalogue has the pages that are left', async () => {
    const catalogue = whole.indexOf('3 0 obj');
    const { text } = await read(
      Buffer.concat([Buffer.from('%PDF-1.7\n'), whole.subarray(catalogue)]).subarray(0, -200),
    );
    expect(text).toBe((await read(whole)).text);
  });

  it('has the objects that are packed into streams', async () => {
    const packed = [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    ];
    const head = `1 0 2 ${packed[0]?.length} `;
    const objects = [
      pdfStream(head + packed.join(''), `/Type /ObjStm /N 2 /First ${head.length}`),
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>',
      pdfStream('BT /F1 12 Tf 60 700 Td (Unpacked.) Tj ET'),
    ];
    const numbers = [9, 3, 4, 5];
    const bytes = objects.map((object, index) => `${numbers[index]} 0 obj\n${object}\nendobj\n`);
    expect((await read(Buffer.from(`%PDF-1.7\n${bytes.join('')}`))).text).toBe('Unpacked.');
  });

  it('is damaged where no page is left, or what is left is encrypted', async () => {
    await expect(read(cut('/Kids'))).rejects.toThrow('Invalid PDF structure');
    const encrypted = encryptedPdf();
    await expect(read(encrypted.subarray(0, encrypted.indexOf('trailer')))).rejects.toThrow(
      'Invalid PDF structure',
    );
  });
});

describe('words', () => {
  /** Lines at random heights, of which some stand on several pages. */
  const pages = fc
    .uniqueArray(fc.integer({ min: 2, max: 60 }), { minLength: 1, maxLength: 8 })
    .chain((rows) =>
      fc.array(
        fc.tuple(
          ...rows.map((row) =>
            fc.record({
              row: fc.constant(row),
              text: fc.constantFrom('Always the same', 'Page', 'No', '', 'Kind regards,'),
              number: fc.constantFrom('none', 'page', 'other'),
            }),
          ),
        ),
        { minLength: 1, maxLength: 6 },
      ),
    );

  it('stand in the text of every page, unless its edge repeats them', async () => {
    await fc.assert(
      fc.asyncProperty(pages, async (drawn) => {
        const placed = drawn.map((lines, page) =>
          lines.map(({ row, text, number }, index) => {
            const numbers = { none: [], page: [page + 1], other: [1_000 + page * 97 + index] };
            return { text: [text, ...numbers[number]].join(' ').trim(), x: 60, y: 830 - row * 13 };
          }),
        );
        const lines = placed.flat().filter(({ text }) => text !== '');
        fc.pre(lines.length > 0);
        const found = await textOf(placed);
        for (const { text } of lines) {
          const same = lines.filter((line) => line.text === text);
          const inner = same.filter(({ y }) => y > 842 / 6 && y < (842 * 5) / 6).length;
          const count = found.split(/\n+/).filter((line) => line === text).length;
          const least = same.length < 3 && !/^(?:Page )?\d$/.test(text) ? same.length : inner;
          expect(count).toBeGreaterThanOrEqual(least);
          if (!/^(?:Page )?\d$/.test(text)) expect(count).toBeGreaterThan(0);
        }
      }),
      { numRuns: 40 },
    );
  });

  (havePdfReaders() ? it : it.skip)(
    'that pypdf and pdfplumber both find in a PDF of this suite are found',
    async () => {
      expect(words.count).toBeGreaterThan(0);
      expect(await words.missing()).toEqual({});
    },
    60_000,
  );
});
