import { deflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PARSE_LIMITS } from '../../../src/attach/parser/document-parser.js';
import { epubOf, epubParts } from '../../support/documents/book.js';
import { docxOf, docxParts, xlsxOf, xlsxParts, zipOf } from '../../support/documents/office.js';
import { odtOf, odtParts } from '../../support/documents/open-document.js';
import { TestParser } from '../../support/documents/parsing.js';
import { overrideConstants } from '../../support/override-constants.js';
import { pdfOf, pdfWithContents } from '../../support/documents/pdf.js';
import { pptxOf, pptxParts } from '../../support/documents/presentation.js';

const MIB = 2 ** 20;

let parser: TestParser;

overrideConstants(PARSE_LIMITS, { unpackedBytes: 20 * MIB });

beforeAll(async () => {
  parser = await TestParser.start({ PARSE_MEMORY_MB: '192' });
});

afterAll(async () => {
  await parser[Symbol.asyncDispose]();
});

/** Fewer would mean that this process stood still while it waited for a document that takes long. */
const TICKS = 20;

let ticks = 0;
let ticking: NodeJS.Timeout;

beforeEach(() => {
  ticks = 0;
  ticking = setInterval(() => (ticks += 1), 1);
});

/** Whatever the document was, the next one is parsed, and nothing is left. */
afterEach(async () => {
  clearInterval(ticking);
  expect((await parser.parse('next.txt', Buffer.from('next'))).fragments).toHaveLength(1);
  expect(await parser.spooled()).toEqual([]);
});

/** The parts of a small .docx, one of them changed. */
function changedDocx(name: string, change: (xml: string) => string): Record<string, string> {
  const parts = docxParts([{ paragraph: 'Hello' }]);
  return { ...parts, [name]: change(parts[name] ?? '') };
}

/** Writes another unpacked size for a part into the zip's directory. */
function lyingZip(zip: Buffer, part: string, size: number): Buffer {
  const entry = zip.lastIndexOf(part) - 46;
  expect(zip.readUInt32LE(entry)).toBe(0x02014b50);
  const changed = Buffer.from(zip);
  changed.writeUInt32LE(size, entry + 24);
  return changed;
}

describe('zip formats', () => {
  it('refuses what unpacks to more than the limit, and names it', async () => {
    const parts = {
      ...docxParts([{ paragraph: 'Hello' }]),
      'word/x.xml': Buffer.alloc(25 * MIB, ' '),
    };
    expect(await parser.reason('bomb.docx', zipOf(parts))).toMatch(
      /Unpacked, the file has 26 MiB, the limit is 20 MiB\./,
    );
  });

  it('ends where a part unpacks to more than it says', async () => {
    const parts = changedDocx('word/document.xml', (xml) => xml + ' '.repeat(25 * MIB));
    const bytes = lyingZip(zipOf(parts), 'word/document.xml', 1_000);
    expect(await parser.reason('bomb.docx', bytes)).toMatch(/damaged.*too many bytes/);
  });

  it('does not unpack pictures, however large they say they are', async () => {
    const parts = {
      ...docxParts([{ paragraph: 'Hello' }]),
      'word/media/a.png': Buffer.alloc(25 * MIB),
    };
    expect((await parser.parse('pictures.docx', zipOf(parts))).fragments).toHaveLength(1);
  });

  it('refuses too many parts', async () => {
    const parts = Object.fromEntries(
      Array.from({ length: 10_001 }, (_, i) => [`word/${i}.xml`, '']),
    );
    expect(await parser.reason('a.docx', zipOf(parts))).toMatch(
      /10001 packed parts, the limit is 10000/,
    );
  });

  it.each([
    [
      'docx',
      zipOf(withEntities(docxParts([{ paragraph: 'Hello' }]), 'word/document.xml', 'Hello')),
    ],
    [
      'xlsx',
      zipOf(
        withEntities(
          xlsxParts([{ name: 'A', rows: [['Hello']] }]),
          'xl/sharedStrings.xml',
          'Hello',
        ),
      ),
    ],
    ['odt', zipOf(withEntities(odtParts('<text:p>Hello</text:p>'), 'content.xml', 'Hello'))],
    [
      'pptx',
      zipOf(withEntities(pptxParts([{ title: 'Hello' }]), 'ppt/slides/slide1.xml', 'Hello')),
    ],
    ['epub', zipOf(withEntities(epubParts('Hello', []), 'OEBPS/book.opf', 'Hello'))],
  ])('refuses XML entities in a %s', async (suffix, bytes) => {
    expect(await parser.reason(`laughs.${suffix}`, bytes)).toMatch(/defines XML entities/);
  });

  it.each(['../../../../tmp/evil.xml', '/etc/evil.xml', 'word\\..\\..\\evil.xml'])(
    'refuses a part named %s',
    async (name) => {
      const bytes = zipOf({ ...docxParts([{ paragraph: 'Hello' }]), [name]: '<a/>' });
      expect(await parser.reason('slip.docx', bytes)).toMatch(
        /damaged.*(?:relative path|absolute path)/,
      );
    },
  );

  it('ends deep nesting', async () => {
    const depth = 100_000;
    const parts = changedDocx('word/document.xml', (xml) =>
      xml
        .replace('<w:p>', `${'<w:smartTag>'.repeat(depth)}<w:p>`)
        .replace('</w:p>', `</w:p>${'</w:smartTag>'.repeat(depth)}`),
    );
    expect(await parser.reason('deep.docx', zipOf(parts))).toMatch(/nested too deeply/);
  });

  it('reads a document of 12.6 MB of XML with little memory', async () => {
    const run = (text: string) =>
      `<w:r><w:rPr><w:b/><w:sz w:val="22"/></w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
    const paragraph = (text: string) =>
      `<w:p><w:pPr><w:jc w:val="left"/></w:pPr>${run(text)}</w:p>`;
    const row = `<w:tr>${`<w:tc><w:tcPr/>${paragraph('a cell')}</w:tc>`.repeat(6)}</w:tr>`;
    const part = `${paragraph('A line of text. ').repeat(10)}<w:tbl>${row.repeat(20)}</w:tbl>`;
    const parts = changedDocx('word/document.xml', (xml) => {
      const body = part.repeat(Math.ceil(12_600_000 / part.length));
      return xml.replace('</w:body>', `${body}${paragraph('The end.')}</w:body>`);
    });
    expect(Buffer.byteLength(parts['word/document.xml'] ?? '')).toBeGreaterThan(12_600_000);
    const { fragments } = await parser.parse('large.docx', zipOf(parts));
    expect(fragments[0]?.content).toContain('Hello');
    expect(fragments.at(-1)?.content).toContain('The end.');
  });

  it.each([
    ['a.docx', docxOf([{ paragraph: 'Hello' }])],
    ['a.xlsx', xlsxOf([{ name: 'A', rows: [['Hello']] }])],
    ['a.pptx', pptxOf([{ title: 'Hello' }])],
    ['a.odt', odtOf('<text:p>Hello</text:p>')],
    ['a.epub', epubOf('Hello', [{ body: '<p>Hello</p>' }])],
  ])('says of a %s that was cut off that it is damaged', async (name, bytes) => {
    expect(await parser.reason(name, bytes.subarray(0, -30))).toMatch(/damaged.*cut off/);
    expect(await parser.reason(name, bytes.subarray(0, 100))).toMatch(/damaged.*cut off/);
  });
});

/** The "billion laughs": ten entities, each ten times the one before. */
function withEntities(parts: Record<string, string>, name: string, text: string) {
  const entities = Array.from(
    { length: 10 },
    (_, i) => `<!ENTITY e${i + 1} "${i === 0 ? 'lol' : `&e${i};`.repeat(10)}">`,
  );
  const xml = (parts[name] ?? '').replace('?>', `?><!DOCTYPE a [${entities.join('')}]>`);
  return { ...parts, [name]: xml.replace(text, '&e10;') };
}

describe('PDF', () => {
  it('refuses more pages than the limit, and names it', async () => {
    const pages = Array.from({ length: 10_000 }, (_, i) => `Page ${i + 1}`);
    expect(await parser.reason('pages.pdf', pdfOf(pages))).toMatch(
      /10000 pages, the limit is 5000\./,
    );
    expect(ticks).toBeGreaterThan(TICKS);
  });

  it('ends where a page unpacks to more than the memory limit, and names it', async () => {
    const content = deflateSync(Buffer.alloc(600 * MIB, 'BT ET '), { level: 1 });
    const bytes = pdfWithContents([{ content, filter: 'FlateDecode' }]);
    expect(await parser.reason('bomb.pdf', bytes)).toMatch(
      /more than 192 MiB of memory.*PARSE_MEMORY_MB/,
    );
    expect(ticks).toBeGreaterThan(TICKS);
  });

  it('reads a file whose table of objects is wrong or cut off, and says of one without pages that it is damaged', async () => {
    const bytes = pdfOf(Array.from({ length: 50 }, (_, i) => `Page ${i + 1}`));
    const moved = Buffer.from(
      bytes.toString('latin1').replace('startxref\n', 'startxref\n9'),
      'latin1',
    );
    expect((await parser.parse('moved.pdf', moved)).pages).toBe(50);
    expect((await parser.parse('cut.pdf', bytes.subarray(0, -1_500))).pages).toBe(50);
    expect(await parser.reason('cut.pdf', bytes.subarray(0, 40))).toMatch(/damaged/);
    const endless = `%PDF-1.7\n${'1 0 obj (('.repeat(20_000)}`;
    expect(await parser.reason('endless.pdf', Buffer.from(endless))).toMatch(/damaged/);
  });
});

describe('pages', () => {
  it('reads HTML that is nested deeply, and whose tags never end', async () => {
    const nested = `${'<div>'.repeat(100_000)}Deep.${'</div>'.repeat(100_000)}`;
    expect((await parser.parse('deep.html', Buffer.from(nested))).fragments).toHaveLength(1);
    const open = `${'<table><tr><td><ul><li>'.repeat(50_000)}Deep.`;
    expect((await parser.parse('open.html', Buffer.from(open))).fragments).toHaveLength(1);
  });

  it('leaves the entities of a page what they are', async () => {
    const page = `<!DOCTYPE html [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><p>a &e; b</p></html>`;
    const { fragments } = await parser.parse('a.html', Buffer.from(page));
    expect(fragments.map(({ content }) => content).join()).toContain('&e;');
    expect(fragments.map(({ content }) => content).join()).not.toContain('root:');
  });
});

describe('text', () => {
  it('splits a single line of 10 MB', async () => {
    const { fragments, characters } = await parser.parse(
      'line.txt',
      Buffer.alloc(10_000_000, 'word '),
    );
    expect(characters).toBe(10_000_000);
    expect(fragments.every(({ content }) => content.length <= 500)).toBe(true);
    expect(fragments.at(-1)?.end).toBeGreaterThan(9_999_900);
    expect(ticks).toBeGreaterThan(TICKS);
  });

  it.each([
    ['deep.json', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['deep.xml', '<a>'.repeat(100_000) + '</a>'.repeat(100_000)],
    ['deep.md', '> '.repeat(100_000)],
    ['deep.js', '{'.repeat(200_000) + '}'.repeat(200_000)],
  ])('splits %s, which is nested deeply, as text', async (name, text) => {
    const { fragments, characters } = await parser.parse(name, Buffer.from(text));
    expect(characters).toBe(text.length);
    expect(fragments.length).toBeGreaterThan(100);
  });

  it('ends a document whose rows do not fit into memory, and names the limit', async () => {
    expect(await parser.reason('cells.csv', Buffer.alloc(30_000_000, ','))).toMatch(
      /more than 192 MiB of memory.*PARSE_MEMORY_MB/,
    );
    expect(ticks).toBeGreaterThan(TICKS);
  });

  it('refuses more fragments than anything could use', async () => {
    const settings = { textBlockSize: 1, overlapChar: 0, separator: '' };
    const parsing = parser.parse('tiny.txt', Buffer.alloc(300_000, 'x'), { settings });
    await expect(parsing).rejects.toThrow(/300000 fragments, the limit is 250000/);
    const text = Buffer.alloc(200_000, 'x');
    expect((await parser.parse('small.txt', text, { settings })).fragments).toHaveLength(200_000);
  });
});
