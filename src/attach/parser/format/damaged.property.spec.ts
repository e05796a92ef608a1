import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { epubParts } from '../../../../test/support/documents/book.js';
import { docOf, msgOf, pptOf, workbookOf } from '../../../../test/support/documents/legacy.js';
import { mailOf } from '../../../../test/support/documents/mail.js';
import { docxParts, xlsxParts, zipOf } from '../../../../test/support/documents/office.js';
import { odtParts } from '../../../../test/support/documents/open-document.js';
import { pdfOf } from '../../../../test/support/documents/pdf.js';
import { pptxParts } from '../../../../test/support/documents/presentation.js';
import { failureOf } from '../parse-failure.js';
import { readDocument } from './read-document.js';
import { english, msg } from '../../../platform/message/index.js';

const LIMITS = { pages: 100, unpackedBytes: 2 ** 20 };

/** What errors of JavaScript say about programs. */
const INTERNALS =
  /undefined|\bnull\b|is not (?:a function|a constructor|iterable)|Cannot |reading '|\w+Error\b|object|\.[jt]s\b|NaN/;

const PAGE =
  '<!doctype html><h1>Title</h1><p>Text<ul><li>One<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2</table>';

const packages: Readonly<Record<string, Record<string, string>>> = {
  docx: docxParts([
    { heading: 'Title', level: 1 },
    { paragraph: 'Text', note: 'Note' },
    { item: 'One' },
    {
      table: [
        ['a', 'b'],
        ['1', '2'],
      ],
    },
  ]),
  xlsx: xlsxParts([
    {
      name: 'A',
      rows: [
        ['a', 1, true],
        ['b', new Date(0), null],
      ],
    },
  ]),
  pptx: pptxParts([{ title: 'Title', body: ['One', 'Two'], notes: ['Note'] }]),
  odt: odtParts(
    '<text:h>Title</text:h><text:list><text:list-item><text:p>One</text:p></text:list-item></text:list>',
  ),
  ods: {
    mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
    'content.xml':
      '<a><table:table table:name="A"><table:table-row><table:table-cell office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row></table:table></a>',
  },
  odp: {
    mimetype: 'application/vnd.oasis.opendocument.presentation',
    'content.xml':
      '<a><draw:page><draw:frame><draw:text-box><text:p>One</text:p></draw:text-box></draw:frame></draw:page></a>',
  },
  epub: epubParts('Book', [{ body: PAGE }, { body: '<p>Two</p>', label: 'Two' }]),
};

const files: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(Object.entries(packages).map(([suffix, parts]) => [suffix, zipOf(parts)])),
  html: Buffer.from(PAGE),
  eml: mailOf({ From: 'a@b.c', Subject: 'Plan', Date: 'today' }, [
    { type: 'text/html', content: PAGE },
    { type: 'text/csv', name: 'a.csv', content: 'a,b\n1,2\n' },
  ]),
  pdf: pdfOf(['One page.', 'Another page.']),
  xls: workbookOf(
    [
      {
        name: 'A',
        rows: [
          ['a', 1],
          ['b', 2],
        ],
        merged: ['A1:A2'],
      },
    ],
    'biff8',
  ),
  doc: docOf('Title\rOne\u0007Two\u0007\u0007The end.\r'),
  ppt: pptOf([{ title: 'Title', body: 'One', notes: 'Note' }]),
  msg: msgOf({ subject: 'Plan', from: ['A', 'a@b.c'], to: [['B', 'b@b.c']], text: 'One.' }),
  rtf: Buffer.from(
    "{\\rtf1{\\fonttbl{\\f0\\fcharset134 A;}}\\pard\\intbl One\\cell \\f0\\'ba\\'cf\\cell\\row\\pard\\u8364? Two\\par}",
  ),
  ipynb: Buffer.from(
    '{"cells":[{"cell_type":"code","source":["x"],"outputs":[{"text":"One"}]}],"metadata":{}}',
  ),
};

/** A number from 0 to 1, for a place in a text of any length. */
const place = fc.double({ min: 0, max: 1, noNaN: true });

/** What becomes of a file: how it ends, and what its owner is told. */
async function outcomeOf(name: string, bytes: Buffer): Promise<{ type: string; reason: string }> {
  try {
    await readDocument({ name, bytes }, LIMITS);
    return { type: 'parsed', reason: '' };
  } catch (error) {
    const failure = failureOf(error);
    return { type: failure.type, reason: 'reason' in failure ? english(failure.reason) : '' };
  }
}

function expectSentence(reason: string): void {
  expect(reason).not.toMatch(INTERNALS);
  if (reason !== '') expect(reason).toMatch(/\. .+\.$/s);
}

describe('a damaged file', () => {
  it.each(Object.keys(files))('%s that was cut or changed ends in a sentence', async (suffix) => {
    const whole = files[suffix] ?? Buffer.alloc(0);
    await fc.assert(
      fc.asyncProperty(place, fc.array(fc.tuple(place, fc.nat(255))), async (length, changes) => {
        const bytes = Buffer.from(whole.subarray(0, Math.ceil(length * whole.length)));
        for (const [at, byte] of changes) bytes[Math.floor(at * (bytes.length - 1))] = byte;
        const { reason } = await outcomeOf(`a.${suffix}`, bytes);
        expectSentence(reason);
      }),
      { numRuns: 60 },
    );
  });

  it.each(Object.keys(packages))('%s with damaged XML is refused or read', async (suffix) => {
    const parts = packages[suffix] ?? {};
    const names = Object.keys(parts);
    const damage = fc.record({
      part: fc.constantFrom(...names),
      from: place,
      length: fc.nat(60),
      filling: fc.constantFrom(
        '',
        '<',
        '>',
        '"',
        '&#xffffff;',
        '&x;',
        '</a>',
        '<b c="',
        '\u0000',
        '99999999999999999999',
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), async (damages) => {
        const changed = { ...parts };
        for (const { part, from, length, filling } of damages) {
          const xml = changed[part] ?? '';
          const start = Math.floor(from * xml.length);
          changed[part] = `${xml.slice(0, start)}${filling}${xml.slice(start + length)}`;
        }
        const { type, reason } = await outcomeOf(`a.${suffix}`, zipOf(changed));
        expectSentence(reason);
        expect(type).not.toBe('broken');
      }),
      { numRuns: 50 },
    );
  });

  it.each(Object.keys(packages))('%s with a part missing is refused or read', async (suffix) => {
    const parts = packages[suffix] ?? {};
    for (const missing of Object.keys(parts)) {
      const rest = Object.entries(parts).filter(([name]) => name !== missing);
      const { type, reason } = await outcomeOf(`a.${suffix}`, zipOf(Object.fromEntries(rest)));
      expectSentence(reason);
      expect(type).not.toBe('broken');
    }
  });
});

describe('failureOf', () => {
  it('keeps what an unknown error says for the log', () => {
    const error = new TypeError("Cannot read properties of undefined (reading 'x')");
    expect(failureOf(error)).toEqual({
      type: 'broken',
      reason: msg`The document cannot be read; it is damaged or not what its name says. Open it, save it again and upload the result.`,
      cause: expect.stringContaining("reading 'x'"),
    });
  });
});
