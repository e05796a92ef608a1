import { describe, expect, it } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import readXlsxFile from 'read-excel-file/node';
import { sheetOf, workbook } from './workbook.js';
import type { Sheet } from './workbook.js';

interface Row {
  id: number;
  name: string | null;
  status: string;
  tags: string[];
  edited: boolean;
  createTime: string | null;
}

const sheet = sheetOf<Row>('Rows & more', {
  id: 'Id',
  name: 'Name',
  status: ['Status', { 0: 'Enabled' }],
  tags: 'Tags',
  edited: 'Edited',
  createTime: 'Created',
});

const ROW: Row = {
  id: 1,
  name: 'plain',
  status: '0',
  tags: ['a', 'b'],
  edited: true,
  createTime: '2026-01-31 18:30:00',
};

async function bytesOf<R>(of: Sheet<R>, pages: readonly (readonly R[])[], note?: string) {
  async function* read(): AsyncGenerator<readonly R[]> {
    for (const page of pages) yield await Promise.resolve(page);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of workbook(of, read(), () => note)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function read(bytes: Buffer) {
  const [first] = await readXlsxFile(bytes);
  if (!first) throw new Error('The workbook has no sheet.');
  return { name: first.sheet, rows: first.data ?? [] };
}

function xmlOf(bytes: Buffer): string {
  return strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml'] ?? new Uint8Array());
}

describe('a workbook', () => {
  it('has headers, words for codes, and dates as dates', async () => {
    const odd = { ...ROW, id: 2, name: null, status: '7', tags: [], createTime: null };
    const { name, rows } = await read(await bytesOf(sheet, [[ROW], [odd]]));

    expect(name).toBe('Rows & more');
    expect(rows).toEqual([
      ['Id', 'Name', 'Status', 'Tags', 'Edited', 'Created'],
      [1, 'plain', 'Enabled', 'a, b', true, new Date('2026-01-31T18:30:00Z')],
      [2, null, '7', null, true, null],
    ]);
  });

  it.each([
    '=1+1',
    '=HYPERLINK("http://evil.example","x")',
    '+1',
    '-2',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '<f>1+1</f>',
    ' "quoted" & <tagged> ',
    'two\nlines',
    'ä 報告 😀',
  ])('keeps %j as the text that it is, never as a formula', async (name) => {
    const bytes = await bytesOf(sheet, [[{ ...ROW, name }]]);
    const { rows } = await read(bytes);
    const xml = xmlOf(bytes);

    // The reader trims.
    expect(rows[1]?.[1]).toBe(name.trim());
    expect(xml).toContain('t="inlineStr"');
    expect(xml).not.toContain('<f>');
    const format = /^[=+\-@\t\r]/.test(name) ? 3 : 0;
    expect(xml).toContain(`<c r="B2" s="${format}" t="inlineStr">`);
  });

  it('holds what XML cannot, and no more than a cell can', async () => {
    const strange = `a\0b\u001f_x0041_\ud800\uffff${'long '.repeat(10_000)}`;
    const bytes = await bytesOf(sheet, [[{ ...ROW, name: strange }]]);
    const [, text = ''] = /<c r="B2"[^>]*><is><t[^>]*>([^<]*)</.exec(xmlOf(bytes)) ?? [];

    expect(text.startsWith('a_x0000_b_x001F__x005F_x0041_\ufffd_xFFFF_long ')).toBe(true);
    expect(text.endsWith('…')).toBe(true);
    expect((await read(bytes)).rows[1]?.[0]).toBe(1);
  });

  it('is written while rows arrive, with a note at its end', async () => {
    const pages = Array.from({ length: 20 }, (_, page) =>
      Array.from({ length: 100 }, (__, at) => ({
        ...ROW,
        id: page * 100 + at,
        name: `${Math.sin(page * 100 + at)}`.repeat(10),
      })),
    );
    let asked = 0;
    async function* counted(): AsyncGenerator<readonly Row[]> {
      for (const page of pages) {
        asked += 1;
        yield await Promise.resolve(page);
      }
    }
    const file = workbook(sheet, counted());
    for (let bytes = 0; bytes < 10_000;) bytes += (await file.next()).value?.length ?? 10_000;
    expect(asked).toBeLessThan(20);
    await file.return();

    const { rows } = await read(await bytesOf(sheet, pages, 'Not all of them.'));
    expect(rows).toHaveLength(2_002);
    expect(rows.at(-2)?.[0]).toBe(1_999);
    expect(rows.at(-1)?.[0]).toBe('Not all of them.');
  });

  it('has columns beyond the letter Z', async () => {
    const fields = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, at]));
    const wide = sheetOf<Record<string, number>>(
      'Wide',
      Object.fromEntries(Object.keys(fields).map((name) => [name, name])),
    );
    const bytes = await bytesOf(wide, [[fields]]);
    expect((await read(bytes)).rows[1]).toEqual(Array.from({ length: 30 }, (_, at) => at));
    expect(xmlOf(bytes)).toContain('r="AD2"');
  });
});
