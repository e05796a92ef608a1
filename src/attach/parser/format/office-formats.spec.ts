import { describe, expect, it } from '@jest/globals';
import {
  compoundOf,
  docOf,
  msgOf,
  pptOf,
  workbookOf,
} from '../../../../test/support/documents/legacy.js';
import { mailOf } from '../../../../test/support/documents/mail.js';
import { encoded } from '../../../../test/support/documents/encoded.js';
import { zipOf } from '../../../../test/support/documents/office.js';
import { readDocument } from './read-document.js';

const LIMITS = { pages: 100, unpackedBytes: 2 ** 24 };

function read(name: string, content: string | Buffer) {
  return readDocument({ name, bytes: Buffer.from(content) }, LIMITS);
}

async function textOf(name: string, content: string | Buffer): Promise<string> {
  return (await read(name, content)).source.text;
}

describe('workbooks', () => {
  const SHEETS = [
    {
      name: 'Prices',
      rows: [
        ['Category', 'Product', 'Code', 'Share'],
        ['Tools', 'Drill', 1234, 0.125],
        [null, 'Säge', 1235, 0.5],
      ],
      formats: { C2: '00000', C3: '00000', D2: '0.0%', D3: '0%' },
      merged: ['A2:A3'],
    },
    { name: 'Zwei', rows: [['x', true, 3.5]] },
  ];

  it.each([
    ['Excel 97 to 2003', 'a.xls', 'biff8'],
    ['Excel, binary', 'a.xlsb', 'xlsb'],
  ] as const)('of %s are read as those of .xlsx', async (_, name, format) => {
    const bytes = workbookOf(SHEETS, format);
    for (const written of [name, 'any', 'a.docx']) {
      expect(await textOf(written, bytes)).toBe(
        'Prices\n\nCategory | Product | Code | Share\nTools | Drill | 01234 | 12.5%\nTools | Säge | 01235 | 50%\n\nZwei\n\nx | true | 3.5',
      );
    }
  });

  it('of Excel 95 are read in the code page of their author', async () => {
    const bytes = workbookOf([{ name: 'A', rows: [['Name'], ['Kettle']] }], 'biff5');
    expect(await textOf('a.xls', bytes)).toBe('Name\nKettle');
  });

  it('of OpenDocument have values, codes and repeated cells', async () => {
    const cell = (type: string, value: string, shown: string, more = '') =>
      `<table:table-cell office:value-type="${type}" ${value} ${more}><text:p>${shown}</text:p></table:table-cell>`;
    const row = (cells: string, more = '') => `<table:table-row ${more}>${cells}</table:table-row>`;
    const content = `<office:document-content><office:body><office:spreadsheet><table:table table:name="A">${[
      row(cell('string', '', 'Category') + cell('string', '', 'Value')),
      row(
        cell('string', '', 'Tools', 'table:number-rows-spanned="3"') +
          cell('float', 'office:value="1234"', '01234'),
      ),
      row(
        `<table:covered-table-cell/>${cell('date', 'office:date-value="2026-01-31T00:00:00"', '31.01.26')}<table:table-cell table:number-columns-repeated="16000"/>`,
      ),
      row(
        `<table:covered-table-cell/>${cell('time', 'office:time-value="PT09H05M00S"', '9:05')}${cell('percentage', 'office:value="0.125"', '13%', 'table:number-columns-repeated="2"')}`,
      ),
      row('<table:table-cell/>', 'table:number-rows-repeated="1000"'),
      row(
        `<table:table-cell><office:annotation><text:p>comment</text:p></office:annotation></table:table-cell>${cell('currency', 'office:value="1234.5" office:currency="EUR"', '1.234,50 €')}${cell('float', 'office:value="1234567"', '1,234,567')}`,
      ),
    ].join('')}</table:table></office:spreadsheet></office:body></office:document-content>`;
    const parts = {
      mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
      'content.xml': content,
    };
    const { text, blocks } = (await read('a.ods', zipOf(parts))).source;
    expect(text).toBe(
      'Category | Value\nTools | 01234\nTools | 2026-01-31\nTools | 09:05:00 | 12.5% | 12.5%\n | 1234.5 EUR | 1234567',
    );
    expect(blocks?.map((block) => 'row' in block && block.row)).toEqual([1, 2, 3, 4, 1005]);
  });
});

describe('Word 97 to 2003', () => {
  it('has paragraphs and tables', async () => {
    const bytes = docOf('Größe 合同\rName\u0007Days\u0007\u0007Ann\u000730\u0007\u0007The end.\r');
    for (const name of ['a.doc', 'any', 'a.docx']) {
      const text = await textOf(name, bytes);
      expect(text).toContain('Größe 合同');
      expect(text).toContain('The end.');
    }
  });

  it('says that it is encrypted, or older', async () => {
    await expect(textOf('a.doc', docOf('x\r', { flags: 0x0100 }))).rejects.toThrow(/password/);
    await expect(textOf('a.doc', docOf('x\r', { version: 0x0065 }))).rejects.toThrow(/old binary/);
  });
});

describe('PowerPoint 97 to 2003', () => {
  it('has slides as pages, with titles, texts and notes', async () => {
    const bytes = pptOf([
      { title: 'Vacation', body: 'Thirty days\rMore für Eltern', notes: 'Say it slowly.' },
      { body: 'Untitled' },
    ]);
    const { source, pages } = await read('a.ppt', bytes);
    expect(pages).toBe(2);
    expect(source.text).toBe(
      'Vacation\n\nThirty days\n\nMore für Eltern\n\nNotes:\n\nSay it slowly.\n\nSlide 2\n\nUntitled',
    );
    expect(source.pageStarts).toEqual([0, source.text.indexOf('Slide 2')]);
  });

  it('says that it is encrypted or damaged', async () => {
    const user = Buffer.alloc(28);
    user.writeUInt32LE(0xf3d1c4df, 12);
    const streams = { 'PowerPoint Document': Buffer.alloc(64), 'Current User': user };
    await expect(textOf('a.ppt', compoundOf(streams))).rejects.toThrow(/password/);
    const empty = { 'PowerPoint Document': Buffer.alloc(64), 'Current User': Buffer.alloc(28) };
    await expect(textOf('a.ppt', compoundOf(empty))).rejects.toThrow(/damaged/);
  });
});

describe('rich text', () => {
  it.each([
    [
      'characters of fonts',
      "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}{\\f1\\fcharset238 Arial CE;}{\\f2\\fcharset134 SimSun;}}\\f0 R\\'e9sum\\'e9 {\\f1 \\'b3} {\\f2 \\'ba\\'cf\\'cd\\'ac} \\u8364?\\par}",
      'Résumé ł 合同 €',
    ],
    [
      'surrogates and fallbacks',
      "{\\rtf1\\ansi\\uc2 \\u-10179\\'3f\\'3f\\u-8704??x{\\uc0\\u8364}y\\par}",
      '😀x€y',
    ],
    ['no hidden text', '{\\rtf1 a{\\v hidden}b\\v gone\\v0 c{\\deleted d}\\par}', 'abc'],
    [
      'no destinations',
      `{\\rtf1{\\info{\\title T\\'fc\\u252\\'3f}}{\\*\\generator X;}{\\pict 00ff}{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt link}}\\par}`,
      'link',
    ],
    ['paragraphs that end with a backslash', '{\\rtf1 One\\\nTwo\\\nThree}', 'One\n\nTwo\n\nThree'],
    [
      'notes in their order, and the number before its item',
      '{\\rtf1 {\\listtext 1.\\tab}Item{\\footnote First}{\\footnote Second}\\par}',
      '1. Item\n\nFirst\n\nSecond',
    ],
    ['symbols', '{\\rtf1 a\\emdash b\\~c\\{d\\}\\line e\\par}', 'a—b\u00a0c{d}\ne'],
    [
      'headers and footers',
      '{\\rtf1{\\header Head\\par}{\\footer Foot\\par}Text{\\footnote Note}.\\par}',
      'Head\n\nText.\n\nNote\n\nFoot',
    ],
    [
      'text boxes',
      '{\\rtf1 A{\\shp{\\*\\shpinst{\\sp{\\sn x}{\\sv y}}{\\shptxt Box\\par}}}\\par B\\par}',
      'A\n\nBox\n\nB',
    ],
    [
      'lists',
      '{\\rtf1 {\\listtext\\tab 2.1\\tab}Limited\\par{\\listtext\\bullet\\tab}Point\\par}',
      '2.1 Limited\n\n- Point',
    ],
    [
      'tables',
      '{\\rtf1 Before\\par\\trowd\\cellx100\\cellx200\\pard\\intbl Name\\cell Days\\cell\\row\\trowd\\clvmgf\\cellx100\\cellx200\\intbl Ann\\cell 30\\cell\\row\\trowd\\clvmrg\\cellx100\\cellx200\\intbl\\cell 31\\par more\\cell\\row\\pard After\\par}',
      'Before\n\nName | Days\nAnn | 30\nAnn | 31 more\n\nAfter',
    ],
    [
      'nested tables',
      '{\\rtf1\\pard\\intbl Plan\\cell Limits\\cell\\row\\pard\\intbl Team\\cell\\pard\\intbl\\itap2 Seats\\nestcell 25\\nestcell{\\*\\nesttableprops\\trowd\\nestrow}\\pard\\intbl\\itap2 Storage\\nestcell 2 TB\\nestcell{\\*\\nesttableprops\\trowd\\nestrow}\\pard\\intbl\\cell\\row\\pard\\par}',
      'Plan | Limits\nTeam | Seats 25; Storage 2 TB',
    ],
  ])('has %s', async (_, rtf, text) => {
    for (const name of ['a.rtf', 'a.doc']) expect(await textOf(name, rtf)).toBe(text);
  });

  it('has headings by outline level and style', async () => {
    const rtf =
      '{\\rtf1{\\stylesheet{\\s0 Normal;}{\\s2\\outlinelevel1 heading 2;}}\\pard\\outlinelevel0 One\\par\\pard\\s2 Two\\par\\pard Text\\par}';
    const { text, blocks = [] } = (await read('a.rtf', rtf)).source;
    expect(text).toBe('One\n\nTwo\n\nText');
    expect(blocks.map((block) => ('level' in block ? block.level : 0))).toEqual([1, 2, 0]);
  });

  it('is read as far as it goes, however wrong its groups are', async () => {
    expect(await textOf('a.rtf', '{\\rtf1 One\\par}}} Two\\par {{{')).toContain('One');
    expect(await textOf('a.rtf', '{\\rtf1 One\\par {\\b cut of')).toBe('One\n\ncut of');
    await expect(textOf('a.rtf', `{\\rtf1 ${'{'.repeat(5_000)}`)).rejects.toThrow(/nested/);
  });
});

describe('Outlook messages', () => {
  const MESSAGE = {
    subject: 'Urlaub 🏖',
    from: ['Ann', 'ann@example.com'],
    to: [['Bob', 'bob@example.com']],
  } as const;

  it('are read as mails, with their attachments', async () => {
    const inner = mailOf({ From: 'a@b.c', Subject: 'Inner', Date: 'today' }, [
      { type: 'text/plain', content: 'Said before.' },
    ]);
    const bytes = msgOf({
      ...MESSAGE,
      text: 'Für alle.\n\nAnn',
      attachments: [
        { name: 'plan.pdf', content: Buffer.alloc(2_000) },
        { name: 'days.csv', content: Buffer.from('country,days\nGermany,30\n') },
        { name: 'old.eml', content: inner },
      ],
    });
    for (const name of ['a.msg', 'any', 'a.eml']) {
      expect(await textOf(name, bytes)).toBe(
        [
          'Urlaub 🏖',
          'From: Ann <ann@example.com>\nTo: Bob <bob@example.com>',
          'Für alle.',
          'Ann',
          'Attachment: plan.pdf (application/pdf, 2 KiB)',
          'Attachment: days.csv',
          'country | days\nGermany | 30',
          'Inner',
          'From: a@b.c\nDate: today',
          'Said before.',
        ].join('\n\n'),
      );
    }
  });

  it('have their page in its code page', async () => {
    const html = encoded('<h2>Umowa</h2><p>Zażółć gęślą jaźń</p>', 'windows-1250');
    const text = await textOf('a.msg', msgOf({ ...MESSAGE, text: 'x', html, codePage: 1250 }));
    expect(text).toContain('Umowa\n\nZażółć gęślą jaźń');
  });
});

describe('OpenDocument presentations', () => {
  it('have slides as pages, with titles, tables and notes', async () => {
    const frame = (place: string, content: string) =>
      `<draw:frame presentation:class="${place}"><draw:text-box>${content}</draw:text-box></draw:frame>`;
    const p = (text: string) => `<text:p>${text}</text:p>`;
    const content = `<office:document-content><office:body><office:presentation><draw:page>${frame('outline', `<text:list><text:list-item>${p('Thirty days')}</text:list-item></text:list>`)}${frame('title', p('Vacation'))}${frame('page-number', p('1'))}<presentation:notes>${frame('notes', p('Slowly.'))}</presentation:notes></draw:page><draw:page><draw:custom-shape>${p('Loose')}</draw:custom-shape></draw:page></office:presentation></office:body></office:document-content>`;
    const parts = {
      mimetype: 'application/vnd.oasis.opendocument.presentation',
      'content.xml': content,
    };
    const { source, pages } = await read('a.odp', zipOf(parts));
    expect(pages).toBe(2);
    expect(source.text).toBe('Vacation\n\n- Thirty days\n\nNotes:\n\nSlowly.\n\nSlide 2\n\nLoose');
  });

  it.each(['text', 'spreadsheet', 'presentation'])(
    'say that %s files are encrypted',
    async (kind) => {
      const parts = {
        mimetype: `application/vnd.oasis.opendocument.${kind}`,
        'META-INF/manifest.xml':
          '<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>',
        'content.xml': 'x',
      };
      await expect(textOf('a.ods', zipOf(parts))).rejects.toThrow(/password/);
    },
  );
});

describe('notebooks', () => {
  it('have texts, code and what it put out', async () => {
    const cells = [
      { cell_type: 'markdown', source: ['# Sales\n', 'Über uns'] },
      {
        cell_type: 'code',
        source: 'show()',
        outputs: [
          { output_type: 'stream', name: 'stdout', text: ['The total is 42\n'] },
          {
            output_type: 'execute_result',
            data: {
              'text/plain': ['   a'],
              'text/html': '<table><tr><th>k<th>a<tr><td>x<td>1</table>',
              'image/png': 'AAAA',
            },
          },
          {
            output_type: 'error',
            ename: 'E',
            evalue: 'bad',
            traceback: ['\u001b[31mE\u001b[0m: bad'],
          },
        ],
      },
    ];
    const metadata = { kernelspec: { language: 'python' } };
    const source = (await read('a.ipynb', JSON.stringify({ cells, metadata, nbformat: 4 }))).source;
    expect(source).toEqual({
      kind: 'markdown',
      text: '# Sales\nÜber uns\n\n```python\nshow()\n```\n\nOutput:\n\n```text\nThe total is 42\nk | a\nx | 1\nE: bad\n```',
    });
    expect((await read('a.ipynb', '{"a": "\\u00fc"}')).source).toEqual({
      kind: 'json',
      text: '{"a": "ü"}',
    });
  });
});

describe('a compound file', () => {
  it.each([
    ['EncryptedPackage', /password/],
    ['Something', /old binary Office format/],
  ])('with %s says what to do', async (stream, reason) => {
    const bytes = compoundOf({ [stream]: Buffer.alloc(100) });
    await expect(textOf('a.docx', bytes)).rejects.toThrow(reason);
  });

  it('is what its own streams say, whatever it embeds', async () => {
    const bytes = compoundOf({
      Something: Buffer.alloc(100),
      'ObjectPool/Workbook': Buffer.alloc(100),
    });
    await expect(textOf('a.doc', bytes)).rejects.toThrow(/old binary Office format/);
  });
});
