import { describe, expect, it } from '@jest/globals';
import { epubOf, epubParts } from '../../../../test/support/documents/book.js';
import { mailOf } from '../../../../test/support/documents/mail.js';
import { docxParts, linked, xlsxParts, zipOf } from '../../../../test/support/documents/office.js';
import { odtOf, odtParts } from '../../../../test/support/documents/open-document.js';
import { pptxOf, pptxParts } from '../../../../test/support/documents/presentation.js';
import { readDocument } from './read-document.js';

const LIMITS = { pages: 100, unpackedBytes: 2 ** 20 };

function read(name: string, content: string | Buffer) {
  return readDocument({ name, bytes: Buffer.from(content) }, LIMITS);
}

/** The text with each heading as in Markdown. */
async function outlineOf(name: string, content: string | Buffer): Promise<string> {
  const { text, blocks = [] } = (await read(name, content)).source;
  let written = '';
  let at = 0;
  for (const block of blocks) {
    if (block.type !== 'heading') continue;
    written += `${text.slice(at, block.start)}${'#'.repeat(block.level)} `;
    at = block.start;
  }
  return written + text.slice(at);
}

describe('HTML', () => {
  it('has text and structure, and no tags, scripts or hidden parts', async () => {
    const page = `<!DOCTYPE html><html><head><title>Rules &amp; more</title><style>p { color: red }</style>
      <script>document.write('<p>no</p>')</script></head><body>
      <h2>Vacation</h2><p>Every employee has
      <b>30</b>&nbsp;days<br>off.<p>And more.
      <div hidden>secret <div>deeper</div></div><div style="display: none">secret</div>
      <ul><li>Germany<ul><li>Bavaria</ul><li>France</ul><ol start=3><li>three<li>four</ol>
      <table><caption>Days</caption><tr><th>Country<th>Days<tr><td rowspan=2>Germany<td>30<tr><td>31</table>
      <table><tr><th rowspan=2 colspan=2>Region<th colspan=2>2025<tr><th>Q1<th>Q2<tr><td>EU<td>DE<td>5<td>7</table>
      <table><tr><td>Left frame.<td>Right frame.</table>
      <pre>  a = 1
    b = 2</pre><noscript>Switch it on.</noscript></body></html>`;
    expect(await outlineOf('page.html', page)).toBe(
      [
        '# Rules & more',
        '## Vacation',
        'Every employee has 30 days\noff.',
        'And more.',
        '- Germany',
        '  - Bavaria',
        '- France',
        '3. three',
        '4. four',
        'Days',
        'Country | Days\nGermany | 30\nGermany | 31',
        'Region |  | 2025\nRegion |  | Q1 | Q2\nEU | DE | 5 | 7',
        'Left frame.',
        'Right frame.',
        '  a = 1\n    b = 2',
      ].join('\n\n'),
    );
  });

  it.each([
    [
      'rows of merged cells alone',
      '<tr><th rowspan=2>A<th rowspan=2>B</tr><tr></tr><tr><td>1<td>2</tr><tr><td>3<td>4</tr>',
      'A | B\n1 | 2\n3 | 4',
    ],
    [
      'rows that end before a merged cell',
      '<tr><th>A<th>B<th rowspan=3>C<tr><td>1<tr><tr><td>2<td>3<td>4',
      'A | B | C\n1 |  | C\n2 | 3 | 4',
    ],
    [
      'merged cells that reach beyond their group of rows',
      '<thead><tr><th rowspan=2>A<th rowspan=9>B</thead><tbody><tr><td>1<td>2<tbody><tr><td>3<td>4',
      'A | B\n1 | 2\n3 | 4',
    ],
  ])('keeps the columns of tables with %s', async (_, rows, expected) => {
    expect(await outlineOf('page.html', `<table>${rows}</table>`)).toBe(expected);
  });

  it('is known by its content, unless the name says which kind of text it is', async () => {
    const page = '<!doctype html>\n<p>Text.</p>';
    expect((await read('page', page)).source).toMatchObject({ kind: 'document', text: 'Text.' });
    expect((await read('page.txt', page)).source.kind).toBe('document');
    const comments = '<!-- saved from a page -->\n'.repeat(100);
    expect((await read('page.txt', `${comments}${page}`)).source.kind).toBe('document');
    expect((await read('page.txt', `${comments}Text.`)).source.kind).toBe('text');
    expect((await read('page.md', page)).source).toMatchObject({ kind: 'markdown', text: page });
    expect((await read('page.vue', page)).source.kind).toBe('code');
  });

  it('believes what a page says about its encoding', async () => {
    const text = Buffer.concat([
      Buffer.from('<html><meta charset="windows-1251"><p>'),
      Buffer.from('cff0e8e2e5f2', 'hex'),
    ]);
    expect(await read('a.html', text)).toMatchObject({
      encoding: 'windows-1251',
      source: { text: 'Привет' },
    });
  });

  it('reads a page whose tags never end, however many there are', async () => {
    const page = `<html>${'<div><font><table><tr><td><ul><li>'.repeat(20_000)}deep`;
    expect((await read('a.html', page)).source.text).toContain('deep');
  });
});

describe('mail', () => {
  const HEADERS = {
    From: 'Ann <ann@example.com>',
    To: 'Bob <bob@example.com>, team@example.com',
    Subject: '=?utf-8?B?VXJsYXViIPCfj5Y=?=',
    Date: 'Mon, 23 Nov 2026 10:00:00 +0100',
  };

  it('has subject, people, date, text, and attachments by name or as text', async () => {
    const inner = mailOf({ ...HEADERS, Subject: 'Inner' }, [
      { type: 'text/plain', content: 'Said before.' },
    ]);
    const mail = mailOf(HEADERS, [
      { type: 'text/html; charset=utf-8', content: '<h2>Plan</h2><p>Für alle.</p>' },
      { type: 'application/pdf', name: 'plan.pdf', content: Buffer.alloc(2_000) },
      { type: 'text/csv', name: 'days.csv', content: 'country,days\nGermany,30\n' },
      { type: 'text/plain', name: 'notes.txt', content: 'One.\n\nTwo.' },
      { type: 'message/rfc822', content: inner },
    ]);
    for (const name of ['mail.eml', 'mail', 'mail.txt']) {
      expect(await outlineOf(name, mail)).toBe(
        [
          '# Urlaub 🏖',
          'From: Ann <ann@example.com>\nTo: Bob <bob@example.com>, team@example.com\nDate: 2026-11-23T09:00:00.000Z',
          '## Plan',
          'Für alle.',
          'Attachment: plan.pdf (application/pdf, 2 KiB)',
          '## Attachment: days.csv',
          'country | days\nGermany | 30',
          '## Attachment: notes.txt',
          'One.',
          'Two.',
          '## Inner',
          'From: Ann <ann@example.com>\nTo: Bob <bob@example.com>, team@example.com\nDate: 2026-11-23T09:00:00.000Z',
          'Said before.',
        ].join('\n\n'),
      );
    }
  });

  it('is known behind many headers, and by those of a mailbox', async () => {
    const long = mailOf({ ...HEADERS, 'X-Long': 'x'.repeat(70_000) }, []);
    expect((await read('a', long)).source.text).toContain('Urlaub');
    const boxed = `From ann@example.com Mon Nov 23\n${mailOf(HEADERS, []).toString('latin1')}`;
    expect((await read('a.mbox', boxed)).source.text).toContain('Urlaub');
    const mailbox = `${boxed}\n\n${boxed}`;
    expect((await read('a.mbox', mailbox)).source).toMatchObject({ kind: 'text' });
  });

  it('is no text that only begins like one', async () => {
    expect((await read('a.txt', 'Subject: none\n\nFrom here on.')).source.kind).toBe('text');
    expect((await read('a.md', mailOf(HEADERS, []))).source.kind).toBe('markdown');
  });

  it('ends messages within messages', async () => {
    let mail = mailOf(HEADERS, [{ type: 'text/plain', content: 'Innermost.' }]);
    for (let depth = 0; depth < 20; depth += 1) {
      mail = mailOf(HEADERS, [{ type: 'message/rfc822', content: mail }]);
    }
    expect(await outlineOf('a.eml', mail)).toContain(
      'Attachment: Attached message (message/rfc822',
    );
  });
});

describe('presentations', () => {
  const SLIDES = [
    { title: 'Vacation', body: ['Thirty days', 'More for parents'], notes: ['Say it slowly.'] },
    {
      table: [
        ['Country', 'Days'],
        ['Germany', '30'],
      ],
    },
    { title: 'End' },
  ];

  it('have slides as pages, with titles, tables and notes', async () => {
    const { source, pages } = await read('a.pptx', pptxOf(SLIDES));
    const { text, pageStarts = [] } = source;
    expect(pages).toBe(3);
    expect(pageStarts.map((start) => text.slice(start).split('\n')[0])).toEqual([
      'Vacation',
      'Slide 2',
      'End',
    ]);
    expect(await outlineOf('a.pptx', pptxOf(SLIDES))).toBe(
      [
        '# Vacation',
        '- Thirty days',
        '- More for parents',
        'Notes:',
        '- Say it slowly.',
        '# Slide 2',
        'Country | Days\nGermany | 30',
        '# End',
      ].join('\n\n'),
    );
  });

  it('have the text of SmartArt, and that of equations once', async () => {
    const parts = pptxParts([{ title: 'Drawn' }]);
    const slide = parts['ppt/slides/slide1.xml'] ?? '';
    const choice =
      '<mc:AlternateContent><mc:Choice><p:sp><p:txBody><a:p><a:r><a:t>x = 1</a:t></a:r></a:p></p:txBody></p:sp></mc:Choice><mc:Fallback><p:sp><p:txBody><a:p><a:r><a:t>x = 1</a:t></a:r></a:p></p:txBody></p:sp></mc:Fallback></mc:AlternateContent></p:spTree>';
    parts['ppt/slides/slide1.xml'] = slide.replace('</p:spTree>', choice);
    parts['ppt/slides/_rels/slide1.xml.rels'] = linked([
      ['art', 'diagramData', '../diagrams/data1.xml'],
    ]);
    parts['ppt/diagrams/data1.xml'] =
      '<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>Step one</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>';
    expect(await outlineOf('a.pptx', zipOf(parts))).toBe('# Drawn\n\nx = 1\n\nStep one');
  });

  it('end at the limit of pages', async () => {
    const slides = Array.from({ length: 101 }, () => ({ title: 'Slide' }));
    await expect(read('a.pptx', pptxOf(slides))).rejects.toThrow(
      /101 slides, the limit is 100 \(PARSE_PAGES\)/,
    );
  });
});

describe('OpenDocument texts', () => {
  const NOTE =
    '<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Since 2024.</text:p></text:note-body></text:note>';
  const BODY = `<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
    <text:h text:outline-level="2">Vacation</text:h>
    <text:p>Every   employee<text:s text:c="2"/>has${NOTE} 30 days.<text:line-break/>Yes.</text:p>
    <text:list><text:list-item><text:p>Germany</text:p><text:list><text:list-item><text:p>Bavaria</text:p></text:list-item></text:list></text:list-item></text:list>
    <table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Country</text:p></table:table-cell><table:table-cell><text:p>Days</text:p></table:table-cell></table:table-row></table:table-header-rows>
    <table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Germany</text:p></table:table-cell><table:table-cell><text:p>30</text:p></table:table-cell></table:table-row>
    <table:table-row><table:covered-table-cell/><table:table-cell><text:p>31</text:p></table:table-cell></table:table-row></table:table>
    <text:p>Text <draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame>around.<office:annotation><text:p>comment</text:p></office:annotation></text:p>`;
  const STYLES =
    '<style:header><text:p>ACME handbook</text:p></style:header><style:footer><text:p>Internal<text:tab/>Page <text:page-number>7</text:page-number></text:p></style:footer>';

  it('have headings, lists, tables, notes, boxes, headers and footers', async () => {
    expect(await outlineOf('a.odt', odtOf(BODY, STYLES))).toBe(
      [
        'ACME handbook',
        '## Vacation',
        'Every employee  has 30 days.\nYes.',
        'Since 2024.',
        '- Germany',
        '  - Bavaria',
        'Country | Days\nGermany | 30\nGermany | 31',
        'Text around.',
        'In a box.',
        'Internal',
      ].join('\n\n'),
    );
  });

  it('keep the columns of a table below a row of covered cells alone', async () => {
    const cell = (text: string, rows = 1) =>
      `<table:table-cell table:number-rows-spanned="${rows}"><text:p>${text}</text:p></table:table-cell>`;
    const covered = '<table:covered-table-cell/>'.repeat(2);
    const rows = [cell('A', 2) + cell('B', 2), covered, cell('1') + cell('2')];
    const table = `<table:table>${rows.map((cells) => `<table:table-row>${cells}</table:table-row>`).join('')}</table:table>`;
    expect(await outlineOf('a.odt', odtOf(table, ''))).toBe('A | B\n1 | 2');
  });

  it('with a password say what to do', async () => {
    const parts = odtParts('<text:p>x</text:p>');
    parts['META-INF/manifest.xml'] = '<m><file-entry><encryption-data/></file-entry></m>';
    await expect(read('a.odt', zipOf(parts))).rejects.toThrow(/password/);
  });
});

describe('books', () => {
  const CHAPTERS = [
    { body: '<h1>One</h1><p>First&nbsp;words.</p>' },
    { body: '<p>No heading here.</p>', label: 'Two' },
  ];

  it('have chapters as pages, in their order, under their headings', async () => {
    const book = epubOf('A Book', CHAPTERS);
    const { source, pages } = await read('a.epub', book);
    expect(pages).toBe(2);
    expect(source.text.slice(source.pageStarts?.[1])).toBe('Two\n\nNo heading here.');
    expect(await outlineOf('a.epub', book)).toBe(
      'A Book\nAnn Author\n\n# One\n\nFirst words.\n\n# Two\n\nNo heading here.',
    );
  });

  it('protected against copying say so', async () => {
    const parts = epubParts('A Book', CHAPTERS);
    parts['META-INF/encryption.xml'] =
      '<encryption><CipherReference URI="OEBPS/text/chapter%202.xhtml"/></encryption>';
    await expect(read('a.epub', zipOf(parts))).rejects.toThrow(/DRM/);
  });
});

describe('Word', () => {
  /** A document with this XML in its body. */
  function docxWith(body: string, more: Record<string, string> = {}): Buffer {
    const parts = docxParts([{ paragraph: 'BODY' }]);
    const xml = parts['word/document.xml'] ?? '';
    parts['word/document.xml'] = xml.replace(/<w:body>.*<\/w:body>/, `<w:body>${body}</w:body>`);
    return zipOf({ ...parts, ...more });
  }

  const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`;
  const field = (code: string, result: string) =>
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>${code}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;

  it('has what headers and footers say once, without page numbers', async () => {
    const header = `<w:hdr><w:p>${run('ACME – Contract 47')}</w:p></w:hdr>`;
    const footer = `<w:ftr><w:p>${run('Confidential')}<w:r><w:tab/></w:r>${run('Page ')}${field(' PAGE ', '3')}${run(' of ')}<w:fldSimple w:instr="NUMPAGES">${run('9')}</w:fldSimple></w:p></w:ftr>`;
    const document = docxWith(`<w:p>${run('The text.')}</w:p>`, {
      'word/_rels/document.xml.rels': linked([
        ['a', 'header', 'header1.xml'],
        ['b', 'header', 'header2.xml'],
        ['c', 'footer', 'footer1.xml'],
      ]),
      'word/header1.xml': header,
      'word/header2.xml': header,
      'word/footer1.xml': footer,
    });
    expect((await read('a.docx', document)).source.text).toBe(
      'ACME – Contract 47\n\nThe text.\n\nConfidential',
    );
  });

  it('has foot notes and end notes below what they explain', async () => {
    const document = docxWith(
      `<w:p>${run('One')}<w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:p>${run('Two')}<w:r><w:endnoteReference w:id="2"/></w:r></w:p>`,
      {
        'word/footnotes.xml': `<w:footnotes><w:footnote w:id="2"><w:p>${run('Foot.')}</w:p></w:footnote></w:footnotes>`,
        'word/endnotes.xml': `<w:endnotes><w:endnote w:id="2"><w:p>${run('End.')}</w:p><w:p>${run('More.')}</w:p></w:endnote></w:endnotes>`,
      },
    );
    expect((await read('a.docx', document)).source.text).toBe('One\n\nFoot.\n\nTwo\n\nEnd.\nMore.');
  });

  it('reads text boxes, changes, symbols, check boxes and formulas as a reader sees them', async () => {
    const document = docxWith(
      [
        `<w:p>${run('A')}<w:del>${run('deleted')}</w:del><w:ins>${run('B')}</w:ins><w:moveFrom>${run('moved')}</w:moveFrom><w:r><w:noBreakHyphen/><w:sym w:font="Symbol" w:char="F061"/></w:r></w:p>`,
        `<w:p>${run('Around.')}<mc:AlternateContent><mc:Choice><w:txbxContent><w:p>${run('In a box.')}</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p>${run('In a box.')}</w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:p>`,
        `<w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>${run('?')}</w:sdtContent></w:sdt>${run(' done')}</w:p>`,
        `<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData></w:fldChar></w:r>${run(' open')}</w:p>`,
        `<w:p><m:oMath><m:r><m:t>E=mc²</m:t></m:r></m:oMath></w:p>`,
        `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>${run('One ')}</w:p><w:p>${run('paragraph.')}</w:p>`,
      ].join(''),
    );
    expect((await read('a.docx', document)).source.text.split('\n\n')).toEqual([
      'AB\u2011α',
      'Around.',
      'In a box.',
      '☑ done',
      '☐ open',
      'E=mc²',
      'One paragraph.',
    ]);
  });

  it('knows headings by styles that are based on them, and by outline levels', async () => {
    const styles =
      '<w:styles><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Own"><w:name w:val="Chapter of ACME"/><w:basedOn w:val="H"/></w:style></w:styles>';
    const document = docxWith(
      `<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr>${run('Styled')}</w:p><w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>${run('Outlined')}</w:p><w:p>${run('Text.')}</w:p>`,
      { 'word/styles.xml': styles },
    );
    expect(await outlineOf('a.docx', document)).toBe('## Styled\n\n### Outlined\n\nText.');
  });

  it('reads tables in cells of tables', async () => {
    const cell = (content: string) => `<w:tc>${content}</w:tc>`;
    const p = (text: string) => `<w:p>${run(text)}</w:p>`;
    const inner = `<w:tbl><w:tr>${cell(p('a'))}${cell(p('b'))}</w:tr><w:tr>${cell(p('c'))}${cell(p('d'))}</w:tr></w:tbl>`;
    const document = docxWith(
      `<w:tbl><w:tr>${cell(p('Name'))}${cell(p('Values'))}</w:tr><w:tr>${cell(p('x'))}${cell(inner)}</w:tr></w:tbl><w:tbl><w:tr>${cell(inner)}</w:tr></w:tbl>`,
    );
    expect((await read('a.docx', document)).source.text).toBe(
      'Name | Values\nx | a b c d\n\na | b\nc | d',
    );
  });
});

describe('Excel', () => {
  /** A sheet with these rows, as XML. */
  function xlsxWith(rows: string, more: Record<string, string> = {}): Buffer {
    const parts = xlsxParts([{ name: 'A', rows: [['x', 'y']] }]);
    const sheet = 'xl/worksheets/sheet1.xml';
    const xml = (parts[sheet] ?? '').replace(
      /<sheetData>.*<\/sheetData>/,
      `<sheetData>${rows}</sheetData>`,
    );
    return zipOf({ ...parts, [sheet]: xml, ...more });
  }

  it('reads cells and rows without references', async () => {
    const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
    const workbook = xlsxWith(
      `<row>${text('Name')}${text('Days')}</row><row>${text('Ann')}<c><v>30</v></c></row><row r="9"><c r="B9"><v>31</v></c><c><v>32</v></c></row>`,
    );
    const { text: written, blocks } = (await read('a.xlsx', workbook)).source;
    expect(written).toBe('Name | Days\nAnn | 30\n | 31 | 32');
    expect(blocks?.map((block) => 'row' in block && block.row)).toEqual([1, 2, 9]);
  });

  it('reads every kind of cell', async () => {
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm;@"/><numFmt numFmtId="165" formatCode="[h]:mm"/><numFmt numFmtId="166" formatCode="#,##0.00 &quot;days&quot;"/><numFmt numFmtId="167" formatCode="0.0%;[Red]-0.0%"/></numFmts><cellXfs><xf/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="20"/><xf numFmtId="167"/><xf numFmtId="9"/></cellXfs></styleSheet>';
    const cells = [
      '<c t="s"><v>0</v></c>',
      '<c t="str"><f>A1</f><v>a_x000D_b</v></c>',
      '<c t="b"><v>0</v></c>',
      '<c t="e"><v>#N/A</v></c>',
      '<c t="d"><v>2026-11-23T00:00:00</v></c>',
      '<c s="1"><v>45351</v></c>',
      '<c s="2"><v>1.5</v></c>',
      '<c s="3"><v>30.100000000000001</v></c>',
      '<c s="4"><v>0.75</v></c>',
      '<c t="s"><v>99</v></c>',
      '<c s="5"><v>7.0000000000000007E-2</v></c>',
      '<c s="6"><v>-0.5</v></c>',
      '<c><v>end</v></c>',
    ];
    const strings =
      '<sst><si><r><t>Rich </t></r><r><t>text</t></r><rPh><t>sound</t></rPh></si></sst>';
    const workbook = xlsxWith(`<row r="1">${cells.join('')}</row>`, {
      'xl/styles.xml': styles,
      'xl/sharedStrings.xml': strings,
    });
    expect((await read('a.xlsx', workbook)).source.text).toBe(
      'Rich text | a b | false |  | 2026-11-23 | 2024-02-29 | 36:00:00 | 30.1 | 18:00:00 |  | 7% | -50% | end',
    );
  });

  it('counts days from 1904 where the workbook does', async () => {
    const parts = xlsxParts([{ name: 'A', rows: [['Day', new Date(Date.UTC(2024, 1, 29))]] }]);
    parts['xl/workbook.xml'] = (parts['xl/workbook.xml'] ?? '').replace(
      '<sheets>',
      '<workbookPr date1904="1"/><sheets>',
    );
    expect((await read('a.xlsx', zipOf(parts))).source.text).toBe('Day | 2028-03-01');
  });
});
