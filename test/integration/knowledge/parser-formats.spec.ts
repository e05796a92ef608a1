import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARSE_LIMITS } from '../../../src/attach/parser/document-parser.js';
import { epubOf } from '../../support/documents/book.js';
import { compoundFileOf } from '../../support/documents/compound-file.js';
import { csvOf } from '../../support/documents/csv.js';
import { encoded } from '../../support/documents/encoded.js';
import { docOf, msgOf, pptOf, workbookOf } from '../../support/documents/legacy.js';
import { docxOf, docxParts, xlsxOf, xlsxParts, zipOf } from '../../support/documents/office.js';
import { odtOf } from '../../support/documents/open-document.js';
import { TestParser } from '../../support/documents/parsing.js';
import { eastAsianPdf, encryptedPdf, pdfOf, placedPdf } from '../../support/documents/pdf.js';
import { havePdfReaders } from '../../support/documents/pdf-words.js';
import { pptxOf } from '../../support/documents/presentation.js';
import { overrideConstants } from '../../support/override-constants.js';

/** Leaves each part of a document a fragment of its own. */
const SMALL = { textBlockSize: 80, overlapChar: 0, separator: '' };

let parser: TestParser;

beforeAll(async () => {
  parser = await TestParser.start({ PARSE_OFFICE: '/no/such/soffice' });
});

afterAll(async () => {
  await parser[Symbol.asyncDispose]();
});

/** All fragments in one text. */
async function contentOf(name: string, bytes: Buffer): Promise<string> {
  const { fragments } = await parser.parse(name, bytes);
  return fragments.map(({ content }) => content).join('\n\n');
}

describe('text formats', () => {
  it.each([
    ['notes.txt', 'text'],
    ['server.log', 'text'],
    ['settings.yaml', 'text'],
    ['page.html', 'document'],
    ['README', 'text'],
    ['data.unknown', 'text'],
    ['README.md', 'markdown'],
    ['main.PY', 'code'],
    ['Dockerfile', 'code'],
    ['data.json', 'json'],
    ['table.tsv', 'table'],
  ] as const)('knows %s as %s', async (name, kind) => {
    const parsed = await parser.parse(name, Buffer.from('Some words.\nMore words.\n'));
    expect(parsed).toMatchObject({
      kind,
      encoding: 'utf-8',
      sample: expect.stringMatching(/^Some words/),
    });
    expect(parsed.fragments.length).toBeGreaterThan(0);
  });

  it('reads a Chinese CSV file that Excel saved, and says its encoding', async () => {
    const bytes = encoded(
      csvOf([
        ['姓名', '城市'],
        ['张三', '上海'],
        ['李四', '北京'],
      ]),
      'gb18030',
    );
    const parsed = await parser.parse('客户.csv', bytes);
    expect(parsed.encoding).toBe('gb18030');
    expect(parsed.fragments[0]?.content).toContain('张三 | 上海');
  });

  it.each([
    ['nothing', 'empty.txt', ''],
    ['white space', 'blank.md', ' \n\n\t\n'],
    ['empty rows', 'blank.csv', ',,\n,,\n'],
  ])('says of a file with %s that it holds no text', async (_, name, text) => {
    expect(await parser.reason(name, Buffer.from(text))).toMatch(/holds no text/);
  });

  it('refuses binary data with what to do', async () => {
    expect(await parser.reason('a.txt', Buffer.from('00010203040506ff'.repeat(20), 'hex'))).toMatch(
      /binary data/,
    );
  });
});

describe('formats of older programs', () => {
  it.each([
    ['a.xls', workbookOf([{ name: 'A', rows: [['Kettle', 41]] }], 'biff8'), 'Kettle | 41'],
    ['a.xlsb', workbookOf([{ name: 'A', rows: [['Kettle', 41]] }], 'xlsb'), 'Kettle | 41'],
    ['a.ods', workbookOf([{ name: 'A', rows: [['Kettle', 41]] }], 'ods'), 'Kettle | 41'],
    ['a.doc', docOf('The kettle.\r'), 'The kettle.'],
    ['a.ppt', pptOf([{ title: 'Kettle' }]), 'Kettle'],
    ['a.rtf', Buffer.from('{\\rtf1 The {\\b kettle}.\\par}'), 'The kettle.'],
    [
      'a.msg',
      msgOf({ subject: 'Kettle', from: ['A', 'a@b.c'], to: [], text: 'Nine years.' }),
      'Nine years.',
    ],
  ])('reads %s', async (name, bytes, text) => {
    expect(await contentOf(name, bytes)).toContain(text);
  });
});

describe('PDF', () => {
  it('reads the text of each page, which its fragments name', async () => {
    const pages = [
      'The first page is about contracts.\nIt has two lines.',
      '',
      'The third page (with brackets) is about vacations.',
    ];
    const parsed = await parser.parse('handbook.pdf', pdfOf(pages), { settings: SMALL });
    expect(parsed).toMatchObject({ kind: 'document', pages: 3 });
    expect(parsed.encoding).toBeUndefined();
    const found = (text: string) => parsed.fragments.find(({ content }) => content.includes(text));
    expect(found('contracts')?.page).toBe(1);
    expect(found('(with brackets)')?.page).toBe(3);
  });

  it('begins a paragraph where the lines stand apart', async () => {
    const text = 'One line\nand the next.\n\n\nA paragraph\nof two lines.';
    expect(await contentOf('a.pdf', pdfOf([text]))).toContain(
      'and the next.\n\nA paragraph\nof two',
    );
  });

  it('repeats the header of a table in each of its fragments, with the rows that they hold', async () => {
    const rows = [['Country', 'City', 'Days']];
    for (let row = 2; row < 12; row += 1) rows.push([`Country${row}`, `City${row}`, String(row)]);
    const texts = rows.flatMap((cells, row) =>
      cells.map((text, column) => ({ text, x: 60 + column * 120, y: 780 - row * 14 })),
    );
    const bytes = placedPdf([texts.toSorted((a, b) => a.x - b.x)]);
    const { fragments } = await parser.parse('days.pdf', bytes, { settings: SMALL });
    expect(fragments.length).toBeGreaterThan(2);
    for (const { content } of fragments) expect(content).toMatch(/^Country \| City \| Days\n/);
    expect(fragments.at(-1)).toMatchObject({
      content: expect.stringMatching(/Country11 \| City11 \| 11$/),
      location: expect.stringMatching(/^rows? .*11$/),
    });
  });

  it.each([
    ['UniGB-UCS2-H', 'GB1', 'utf-16be', '劳动合同期限为三年。'],
    ['GBK-EUC-H', 'GB1', 'gb18030', '劳动合同期限为三年。'],
    ['ETen-B5-H', 'CNS1', 'big5', '勞動契約期限為三年。'],
    ['90ms-RKSJ-H', 'Japan1', 'shift_jis', '労働契約の期間は三年です。'],
    ['KSCms-UHC-H', 'Korea1', 'euc-kr', '근로계약기간은삼년입니다.'],
  ])('reads a font that is not embedded, in %s', async (characterMap, collection, label, text) => {
    const codes =
      label === 'utf-16be' ? Buffer.from(text, 'utf16le').swap16() : encoded(text, label);
    const bytes = eastAsianPdf({ characterMap, collection, codes });
    expect(await contentOf('a.pdf', bytes)).toBe(text);
  });

  it('does not make up text for a font that names its glyphs by numbers alone', async () => {
    const codes = Buffer.from('0123456789ab', 'hex');
    const bytes = eastAsianPdf({ characterMap: 'Identity-H', collection: 'GB1', codes });
    const outcome = await contentOf('a.pdf', bytes).catch(() => '');
    expect(outcome).not.toMatch(/\p{Script=Han}/u);
  });

  (havePdfReaders() ? it : it.skip)(
    'has the words that pypdf and pdfplumber both find',
    async () => {
      expect(parser.words.count).toBeGreaterThan(0);
      expect(await parser.words.missing()).toEqual({});
    },
    60_000,
  );

  it('says what to do about a password, and about scanned pages', async () => {
    expect(await parser.reason('a.pdf', encryptedPdf())).toMatch(/remove the password/i);
    expect(await parser.reason('a.pdf', pdfOf(['', '']))).toMatch(/scanned images.*OCR/);
  });
});

describe('Word', () => {
  it('reads headings, paragraphs, lists, tables and foot notes in their order', async () => {
    const bytes = docxOf([
      { heading: 'Vacation', level: 1 },
      { paragraph: 'Everybody has 30 days & more.', note: 'Since 2024.' },
      { heading: 'By country', level: 2 },
      { item: 'Germany' },
      { item: 'Bavaria', level: 1 },
      {
        table: [
          ['Country', 'City', 'Days'],
          ['Germany', 'Berlin', '30'],
          [null, 'Munich', '31'],
        ],
      },
      { paragraph: 'The end.' },
    ]);
    const parsed = await parser.parse('rules.docx', bytes, { settings: SMALL });
    const content = parsed.fragments.map((fragment) => fragment.content).join('\n\n');
    expect(parsed.kind).toBe('document');
    for (const text of [
      'Everybody has 30 days & more.\n\nSince 2024.',
      '- Germany\n\n  - Bavaria',
      'Country | City | Days\nGermany | Berlin | 30\nGermany | Munich | 31',
      'The end.',
    ]) {
      expect(content).toContain(text);
    }
    const last = parsed.fragments.find((fragment) => fragment.content.includes('Munich'));
    expect(last?.headings).toEqual(['Vacation', 'By country']);
  });

  it('reads a frame around text as text', async () => {
    const content = await contentOf(
      'a.docx',
      docxOf([
        { table: [['Left column.', 'Right column.']] },
        { table: [['Framed.'], ['Below.']] },
      ]),
    );
    expect(content).toBe('Left column.\n\nRight column.\n\nFramed.\n\nBelow.');
  });

  it('is known by its content, whatever its name', async () => {
    const bytes = docxOf([{ paragraph: 'I am a letter.' }]);
    expect((await parser.parse('letter.xlsx', bytes)).kind).toBe('document');
    expect((await parser.parse('letter', bytes)).kind).toBe('document');
  });

  it('says of an empty one that it holds no text', async () => {
    expect(await parser.reason('a.docx', docxOf([{ paragraph: ' ' }]))).toMatch(/holds no text/);
  });
});

describe('Excel', () => {
  it('reads every sheet by itself, with values as Excel shows them', async () => {
    const bytes = xlsxOf([
      {
        name: 'Orders',
        rows: [
          ['Orders of 2024'],
          [],
          ['Article', 'Price', 'Ordered', 'Paid'],
          ['Bolt', 0.1 + 0.2, new Date(Date.UTC(2024, 1, 29)), true],
          [],
          [
            'Nut\n(steel)',
            { formula: 'B4*2', value: 0.6 },
            new Date(Date.UTC(2024, 2, 1, 13, 45)),
            null,
          ],
        ],
      },
      { name: 'Empty', rows: [] },
      {
        name: 'Staff & more',
        rows: [
          ['Name', 'City'],
          ['Ann', 'Oslo'],
        ],
      },
    ]);
    const parsed = await parser.parse('orders.xlsx', bytes);
    expect(parsed.kind).toBe('table');
    const content = parsed.fragments.map((fragment) => fragment.content).join('\n');
    expect(content).toContain('Article | Price | Ordered | Paid');
    expect(content).toContain('Bolt | 0.3 | 2024-02-29 | true');
    expect(content).toContain('Nut (steel) | 0.6 | 2024-03-01T13:45:00');
    const staff = parsed.fragments.find((fragment) => fragment.content.includes('Oslo'));
    expect(staff).toMatchObject({
      content: 'Staff & more\n\nName | City\nAnn | Oslo',
      headings: ['Staff & more'],
      location: "'Staff & more'!A2:B2",
    });
    expect(content).not.toContain('Empty');
  });

  it('leaves out what is no sheet of cells', async () => {
    const parts = xlsxParts([
      {
        name: 'Data',
        rows: [
          ['Name', 'City'],
          ['Ann', 'Oslo'],
        ],
      },
    ]);
    const chart = '<sheet name="Chart" sheetId="9" r:id="rId99"/></sheets>';
    parts['xl/workbook.xml'] = parts['xl/workbook.xml']?.replace('</sheets>', chart) ?? '';
    expect(await contentOf('a.xlsx', zipOf(parts))).toContain('Ann | Oslo');
  });
});

describe('formats that LibreOffice converts', () => {
  const drawing = zipOf({ mimetype: 'application/vnd.oasis.opendocument.graphics' });

  /** A parser with a program in place of LibreOffice that runs this, with the file as $source and its folder as $out. */
  async function withProgram(script: string) {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-office-'));
    const program = join(folder, 'soffice');
    const head =
      '#!/bin/sh\nfor arg; do source="$arg"; done\nout=$(dirname "$source")/out; mkdir "$out"\n';
    await writeFile(program, `${head}${script}\n`, { mode: 0o700 });
    await writeFile(join(folder, 'result'), docxOf([{ paragraph: 'From a drawing.' }]));
    return TestParser.start({ PARSE_OFFICE: program });
  }

  it('are converted by the program and read', async () => {
    await using office = await withProgram(
      'cp "$(dirname "$0")/result" "$out/document.pdf"; env > "$out/env"; [ -z "$DATA_DIR" ] && [ -s "$source" ]',
    );
    const { fragments } = await office.parse('plan.odg', drawing);
    expect(fragments[0]?.content).toBe('From a drawing.');
    // Nothing is left of the conversion.
    expect(await readdir(join(office.folder, 'parsing'))).toEqual([]);
  });

  it.each([
    ['it fails', 'exit 1', /LibreOffice cannot read/],
    ['it writes nothing', 'exit 0', /LibreOffice cannot read/],
  ] as const)('say what to do where %s', async (_, script, reason) => {
    await using office = await withProgram(script);
    expect(await office.reason('plan.odg', drawing)).toMatch(reason);
    expect(await readdir(join(office.folder, 'parsing'))).toEqual([]);
  });

  it('say what to do where it is not installed', async () => {
    expect(await parser.reason('plan.odg', drawing)).toMatch(/OpenDocument.*PDF/);
  });

  describe('in a second', () => {
    overrideConstants(PARSE_LIMITS, { seconds: 1 });

    it('say what to do where it takes too long', async () => {
      await using office = await withProgram('sleep 600');
      expect(await office.reason('plan.odg', drawing)).toMatch(/longer than 1 s/);
      expect(await readdir(join(office.folder, 'parsing'))).toEqual([]);
    });
  });
});

describe('what is not read', () => {
  it.each([
    ['EncryptedPackage', 'secret.docx', /password.*remove/],
    ['EncryptedPackage', 'secret.xlsx', /password.*remove/],
    ['WordDocument', 'cut.doc', /damaged/],
    ['__properties_version1.0', 'cut.msg', /damaged/],
    ['Something', 'a.docx', /damaged/],
  ])('says of a compound file with %s what to do', async (stream, name, reason) => {
    expect(await parser.reason(name, compoundFileOf(stream))).toMatch(reason);
  });

  it.each([
    ['an archive', { 'a.txt': 'text' }, /archive.*Unpack/],
    [
      'OpenDocument of another kind',
      { mimetype: 'application/vnd.oasis.opendocument.graphics' },
      /OpenDocument.*PDF/,
    ],
    ['a presentation without slides', { 'ppt/presentation.xml': '<a/>' }, /holds no text/],
  ])('says of %s what to do', async (_, parts, reason) => {
    expect(await parser.reason('a.docx', zipOf(parts))).toMatch(reason);
  });

  it.each([
    ['a.pdf', 'Some words.\n', /^This is not a PDF; it looks like plain text\. .*\.txt\.$/],
    ['A.PDF', '<!DOCTYPE html>\n<html></html>', /not a PDF; it looks like HTML\. .*\.html\.$/],
    ['a.docx', '{"error":"not signed in"}', /not a Word document; it looks like JSON\./],
    ['a.doc', '<?xml version="1.0"?><a/>', /not a Word document; it looks like XML\./],
    [
      'a.xlsx',
      'id,name\n1,Ann\n2,Bob\n',
      /not an Excel workbook; it looks like a table .*\.csv\.$/,
    ],
    ['a.xls', '<table><tr><td>1</td></tr></table>', /not an Excel workbook; it looks like HTML\./],
    ['a.pptx', 'Some words.', /not a PowerPoint presentation; it looks like plain text\./],
    ['a.png', '# Title', /not an image; it looks like plain text\./],
    ['a.zip', '[1, 2]', /not an archive; it looks like JSON\./],
    ['a.pdf', ' \n', /holds no text/],
  ])('says of a text named %s what it is: %j', async (name, text, reason) => {
    expect(await parser.reason(name, Buffer.from(text))).toMatch(reason);
  });

  it('says of binary data under the name of a format that it is not of that format', async () => {
    const bytes = Buffer.from('00010203040506ff'.repeat(20), 'hex');
    expect(await parser.reason('a.pdf', bytes)).toMatch(/^This is not a PDF, or it is damaged/);
  });

  it.each([
    ['a PDF', pdfOf(['Some words.'])],
    ['a Word document', docxOf([{ paragraph: 'Some words.' }])],
    ['an Excel workbook', xlsxOf([{ name: 'A', rows: [['Some words.']] }])],
    ['a PowerPoint presentation', pptxOf([{ title: 'Slide', body: ['Some words.'] }])],
    ['an OpenDocument text', odtOf('<text:p>Some words.</text:p>')],
    ['an EPUB book', epubOf('Book', [{ body: '<p>Some words.</p>' }])],
  ])('reads %s whatever it is named', async (_, bytes) => {
    for (const name of ['a.pdf', 'a.docx', 'a.xlsx', 'a.txt', 'a.csv', 'a.bin', 'a']) {
      expect(await contentOf(name, bytes)).toContain('Some words.');
    }
  });

  it('does not take an archive with a folder named word for a Word document', async () => {
    expect(await parser.reason('a.docx', zipOf({ 'word/notes.txt': 'x' }))).toMatch(
      /archive.*Unpack/,
    );
  });

  it('says of a damaged document what to do, within the length of its column', async () => {
    const parts = docxParts([{ paragraph: 'x' }]);
    const broken = zipOf({ ...parts, 'word/document.xml': `<w:p>${'<a>'.repeat(200)}` });
    const reason = await parser.reason('a.docx', broken);
    expect(reason).toMatch(/is damaged.*save it again/);
    expect(reason.length).toBeLessThanOrEqual(480);
  });
});
