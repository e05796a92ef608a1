import { describe, expect, it } from '@jest/globals';
import { fromBufferPromise } from 'yauzl';
import { docxParts, xlsxParts, zipOf } from '../../../test/support/documents/office.js';
import { typeOf } from '../../platform/storage/index.js';
import { refusalOf } from './document.errors.js';
import { english } from '../../platform/message/index.js';

async function refusal(content: string | Buffer, name: string): Promise<string | undefined> {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'hex') : content;
  const openZip = () => fromBufferPromise(bytes);
  const message = await refusalOf({ name, mimeType: typeOf(bytes, name), openZip });
  return message && english(message);
}

const letter = docxParts([{ paragraph: 'I am a letter.' }]);
const orders = xlsxParts([{ name: 'Orders', rows: [['Bolt', 3]] }]);

/** The parts with another type of the main part, as templates and documents with macros have. */
function retyped(parts: Record<string, string>, from: string, to: string): Record<string, string> {
  const types = (parts['[Content_Types].xml'] ?? '').replace(from, to);
  expect(types).toContain(to);
  return { ...parts, '[Content_Types].xml': types };
}

/** Word for the web calls its main part document2.xml. */
function renamed(parts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parts).map(([name, content]) => [
      name.replace('word/document.xml', 'word/document2.xml'),
      content.replaceAll('word/document.xml', 'word/document2.xml'),
    ]),
  );
}

function without(parts: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(parts).filter(([other]) => other !== name));
}

const SLIDES = 'application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml';

function withTypes(type: string): Record<string, string> {
  const part = `<Override PartName="/main.xml" ContentType="${type}"/>`;
  return { '[Content_Types].xml': `<Types>${part}</Types>`, 'main.xml': '<a/>' };
}

describe('refusalOf', () => {
  it.each([
    ['89504e470d0a1a0a', 'a.png', true, undefined],
    ['ffd8ffe0', 'scan.pdf', true, undefined],
    ['524946460000000057454250', 'a.webp', true, undefined],
    ['89504e470d0a1a0a', 'a.png', false, /^Images .* Switch it on \(enableOcr\)/],
    ['49492a00', 'a.tif', true, /^Images of this format .* PNG, JPEG or WebP/],
    ['474946383961', 'a.gif', false, /^Images of this format .* PNG, JPEG or WebP/],
  ] as const)('of an image %s with text recognition %s', async (hex, name, recognition, reason) => {
    const bytes = Buffer.from(hex, 'hex');
    const openZip = () => fromBufferPromise(bytes);
    const mimeType = typeOf(bytes, name);
    const found = await refusalOf({ name, mimeType, openZip, recognition });
    if (reason) expect(found && english(found)).toMatch(reason);
    else expect(found).toBeUndefined();
  });

  it.each([
    ['89504e470d0a1a0a', 'a.txt', /^Images .* OCR/],
    ['ffd8ffe0', 'scan.pdf', /^Images .* OCR/],
    ['494433', 'a.md', /^Audio and video .* transcript/],
    ['0000001866747970', 'a.docx', /^Audio and video .* transcript/],
    ['504b030414', 'a.zip', /^Archives .* Unpack/],
    ['504b030414', 'a', /^Archives .* Unpack/],
    ['1f8b0800', 'a.tar.gz', /^Archives .* Unpack/],
    ['377abcaf271c', 'a.docx', /^Archives .* Unpack/],
  ])('refuses %s named %s', async (hex, name, reason) => {
    expect(await refusal(hex, name)).toMatch(reason);
  });

  it.each([
    ['a letter', letter],
    ['a letter whose main part has another name', renamed(letter)],
    ['a letter without a list of types', without(letter, '[Content_Types].xml')],
    [
      'a letter with macros',
      retyped(
        letter,
        'vnd.openxmlformats-officedocument.wordprocessingml.document.main',
        'vnd.ms-word.document.macroEnabled.main',
      ),
    ],
    ['a template', retyped(orders, 'spreadsheetml.sheet.main', 'spreadsheetml.template.main')],
    ['a workbook', orders],
    ['a presentation', withTypes(SLIDES)],
    ['an OpenDocument text', { mimetype: 'application/vnd.oasis.opendocument.text' }],
    ['one of its templates', { mimetype: 'application/vnd.oasis.opendocument.text-template' }],
    ['a spreadsheet', { mimetype: 'application/vnd.oasis.opendocument.spreadsheet' }],
    ['slides', { mimetype: 'application/vnd.oasis.opendocument.presentation-template' }],
    ['a binary workbook', { 'xl/workbook.bin': 'x' }],
    ['a drawing', { mimetype: 'application/vnd.oasis.opendocument.graphics' }],
    ['a book', { mimetype: 'application/epub+zip' }],
  ])('lets %s be tried under any name', async (_, parts) => {
    for (const name of ['a.docx', 'a.xlsx', 'a.zip', 'a.pptx', 'a.epub', 'a.txt', 'a.bin', 'a']) {
      expect(await refusal(zipOf(parts), name)).toBeUndefined();
    }
  });

  it.each([
    ['files', { 'word/notes.txt': 'x', 'b.txt': 'y' }, /^Archives .* Unpack/],
    ['a package of another kind', withTypes('application/vnd.ms-visio.drawing.main+xml'), /^Arch/],
  ])('refuses %s under any name', async (_, parts, reason) => {
    for (const name of ['a.docx', 'a.xlsx', 'a.zip', 'a.pptx', 'a.epub', 'a.odt', 'a.txt', 'a']) {
      expect(await refusal(zipOf(parts), name)).toMatch(reason);
    }
  });

  it.each([
    ['255044462d312e37', 'a.pdf'],
    ['504b030414', 'a.docx'],
    ['504b030414', 'A.XLSX'],
    ['504b030414', 'a.docm'],
    ['504b030414', 'a.pptx'],
    ['504b030414', 'a.odt'],
    ['504b030414', 'a.epub'],
    ['504b030414', 'a.ods'],
    ['504b030414', 'a.odp'],
    ['504b030414', 'a.xlsb'],
    ['7b5c72746631', 'a.rtf'],
    // Their parsing fails with a reason that depends on what is inside.
    ['d0cf11e0a1b11ae1', 'a.doc'],
    ['d0cf11e0a1b11ae1', 'a.xlsx'],
    // Text of an older encoding or UTF-16; whether it is one shows when it is read.
    ['c4e3bac3', 'a.txt'],
    ['fffe4100', 'a.csv'],
    ['68656c6c6f', 'a.unknown'],
    ['', 'empty.txt'],
  ])('lets %s named %s be tried', async (hex, name) => {
    expect(await refusal(hex, name)).toBeUndefined();
  });
});
