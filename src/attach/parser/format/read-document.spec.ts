import { describe, expect, it } from '@jest/globals';
import { epubOf, epubParts } from '../../../../test/support/documents/book.js';
import { encoded } from '../../../../test/support/documents/encoded.js';
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

  it('leaves out whatever is hidden, with and without end tags', async () => {
    const page = `<html><p hidden>no <b>no</b><p style="color:red;display:none!important">no
      <p>Shown.<h1 style="visibility:hidden">no</h1><main hidden><p>no</main>
      <table><tr><td>a<td>b<tr style="display:none"><td>no<td><p>no</p><tr><td>1<td hidden>no<td>2</table>
      <ul><li>One<li hidden>no<ul><li>no</ul><li>Two</ul><dl><dt hidden>no<dd>Three</dl>
      <select><option hidden>no<option>Four</select><dialog>no</dialog><div popover>no</div>
      <span style="font-size:0">no</span><label hidden>no</label><div style="font-size: 0"><i>Five</i></div>
      <div style="visibility:hidden">no <b style="visibility:visible">Six</b></div><p hidden="until-found">Seven`;
    const { text } = (await read('a.html', page)).source;
    expect(text).not.toMatch(/\bno\b/);
    for (const word of [
      'Shown',
      'a | b\n1 | 2',
      'One',
      'Two',
      'Three',
      'Four',
      'Five',
      'Six',
      'Seven',
    ]) {
      expect(text).toContain(word);
    }
  });

  it('keeps rows of tables in cells apart', async () => {
    const inner = '<table><tr><td>Seats<td rowspan=2>25<tr><td>Storage</table>';
    const page = `<table><tr><td>Plan<td>Limits<tr><td>Team${inner}after<td>yearly</table>`;
    expect((await read('a.html', page)).source.text).toBe(
      'Plan | Limits\nTeam; Seats 25; Storage 25; after | yearly',
    );
  });

  it.each([
    [
      '<mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup><mo>+</mo><mfrac><mi>a</mi><mi>b</mi></mfrac></mrow>',
      'E = mc^2 + \\frac{a}{b}',
    ],
    [
      '<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub><mo>≤</mo><msqrt><mn>2</mn><mi>π</mi></msqrt>',
      '\\sum_{i=1}^n x_i \\le \\sqrt{2\\pi}',
    ],
    [
      '<mfenced open="[" close="]"><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable></mfenced>',
      '[\\begin{matrix}1 & 2\\end{matrix}]',
    ],
    [
      '<semantics><mi>x</mi><annotation encoding="application/x-tex">\\hat{x}</annotation></semantics>',
      '\\hat{x}',
    ],
  ])('reads formulas as LaTeX: %s', async (math, latex) => {
    const page = `<html><p>Where <math>${math}</math> holds.`;
    expect((await read('a.html', page)).source.text).toBe(`Where ${latex} holds.`);
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

  it.each([
    ['the page in it', 'text/html', '<meta charset="gb2312"><p>合同金额一百元</p>', 'gb18030'],
    ['its content, where the label is of ASCII', 'text/plain; charset=us-ascii', 'Größe', 'utf-8'],
    ['its content, where the label is wrong', 'text/plain; charset=gb2312', 'Größe', 'utf-8'],
    ['its content, without a label', 'text/plain', 'Umowa może być rozwiązana', 'windows-1250'],
    ['a label that fits', 'text/plain; charset=windows-1250', 'Größe für Müller', 'windows-1250'],
    [
      'other letters than its label has',
      'text/plain; charset=iso-8859-1',
      '合同金额一百元',
      'gb18030',
    ],
  ])('has the charset of %s', async (_, type, text, label) => {
    const content = label === 'utf-8' ? Buffer.from(text) : encoded(text, label);
    const { source } = await read('a.eml', mailOf(HEADERS, [{ type, content }]));
    expect(source.text).toContain(text.replace(/<[^>]+>/g, ''));
  });

  it('needs no sender', async () => {
    const { From: _, ...headers } = HEADERS;
    const parts = [
      { type: 'text/plain', content: 'The draft.' },
      { type: 'application/pdf', name: 'plan.pdf', content: Buffer.alloc(60_000) },
    ];
    for (const name of ['draft.eml', 'draft', 'draft.txt']) {
      const { text } = (await read(name, mailOf(headers, parts))).source;
      expect(text).toContain('The draft.\n\nAttachment: plan.pdf');
      expect(text.length).toBeLessThan(500);
    }
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
    await expect(read('a.pptx', pptxOf(slides))).rejects.toThrow(/101 slides, the limit is 100\./);
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
  function docxWith(body: string, more: Record<string, string | Buffer> = {}): Buffer {
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
      'E = mc²',
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

  it('writes the numbers of paragraphs as Word counts them', async () => {
    const level = (index: number, format: string, text: string, more = '') =>
      `<w:lvl w:ilvl="${index}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/>${more}</w:lvl>`;
    const numbering = `<w:numbering><w:abstractNum w:abstractNumId="7">${[
      level(0, 'upperRoman', 'Article %1', '<w:pStyle w:val="Clause"/>'),
      level(1, 'decimal', '%1.%2', '<w:isLgl/>'),
      level(2, 'lowerLetter', '(%3)'),
    ].join(
      '',
    )}</w:abstractNum><w:abstractNum w:abstractNumId="8">${level(0, 'bullet', '•')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num></w:numbering>`;
    const styles = `<w:styles><w:style w:styleId="Clause"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>`;
    const item = (text: string, list: number, depth: number) =>
      `<w:p><w:pPr><w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${list}"/></w:numPr></w:pPr>${run(text)}</w:p>`;
    const clause = (text: string) =>
      `<w:p><w:pPr><w:pStyle w:val="Clause"/></w:pPr>${run(text)}</w:p>`;
    const document = docxWith(
      [
        clause('Scope'),
        item('Pumps.', 1, 1),
        item('With hoses.', 1, 2),
        item('With valves.', 1, 2),
        item('Parts.', 1, 1),
        clause('Liability'),
        item('Limited.', 1, 1),
        item('With hoses.', 1, 2),
        item('A point.', 2, 0),
        item('Later.', 3, 0),
        clause('End'),
      ].join(''),
      { 'word/numbering.xml': numbering, 'word/styles.xml': styles },
    );
    expect((await read('a.docx', document)).source.text.split('\n\n')).toEqual([
      'Article I Scope',
      '  1.1 Pumps.',
      '    (a) With hoses.',
      '    (b) With valves.',
      '  1.2 Parts.',
      'Article II Liability',
      '  2.1 Limited.',
      '    (a) With hoses.',
      '- A point.',
      'Article IX Later.',
      'Article X End',
    ]);
  });

  it('reads embedded documents where they stand, and no hidden text', async () => {
    const inner = docxWith(`<w:p>${run('Inner.')}</w:p>`);
    const parts: Record<string, string | Buffer> = {
      'word/_rels/document.xml.rels': linked([
        ['c1', 'aFChunk', 'chunk.html'],
        ['c2', 'aFChunk', 'chunk.docx'],
        ['c3', 'aFChunk', '/word/chunk.txt'],
      ]),
      'word/chunk.html': '<html><h2>Part</h2><table><tr><td>a<td>b<tr><td>1<td>2</table></html>',
      'word/chunk.docx': inner,
      'word/chunk.txt': 'Plain.',
      'word/styles.xml':
        '<w:styles><w:style w:styleId="Off"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>',
    };
    const hidden = '<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>';
    const byStyle = '<w:r><w:rPr><w:rStyle w:val="Off"/></w:rPr><w:t>hidden</w:t></w:r>';
    const off = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Shown.</w:t></w:r>';
    const chunks = ['c1', 'c2', 'c3'].map((id) => `<w:altChunk r:id="${id}"/>`).join('');
    const document = docxWith(
      `<w:p>${run('Before.')}${hidden}${byStyle}</w:p>${chunks}<w:p>${off}</w:p>`,
      parts,
    );
    expect((await read('a.docx', document)).source.text).toBe(
      'Before.\n\nPart\n\na | b\n1 | 2\n\nInner.\n\nPlain.\n\nShown.',
    );
  });

  it.each([
    [
      '<m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:r><m:t>+</m:t></m:r><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f>',
      'E = mc^2 + \\frac{a}{b}',
    ],
    [
      '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r></m:sup><m:e><m:sSub><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sub><m:r><m:t>i</m:t></m:r></m:sub></m:sSub></m:e></m:nary>',
      '\\sum_{i=1}^n x_i',
    ],
    [
      '<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e><m:r><m:t>2πσ</m:t></m:r></m:e></m:rad><m:d><m:e><m:m><m:mr><m:e><m:r><m:t>1</m:t></m:r></m:e><m:e><m:r><m:t>0</m:t></m:r></m:e></m:mr></m:m></m:e></m:d>',
      '\\sqrt{2\\pi\\sigma}(\\begin{matrix}1 & 0\\end{matrix})',
    ],
  ])('reads formulas as LaTeX, on slides, too: %s', async (math, latex) => {
    const formula = `<m:oMath>${math}</m:oMath>`;
    const document = docxWith(`<w:p>${run('So ')}${formula}${run(' holds.')}</w:p>`);
    expect((await read('a.docx', document)).source.text).toBe(`So ${latex} holds.`);
    const parts = pptxParts([{ title: 'T', body: ['FORMULA'] }]);
    const slide = 'ppt/slides/slide1.xml';
    parts[slide] = (parts[slide] ?? '').replace(
      '<a:r><a:t>FORMULA</a:t></a:r>',
      `<a14:m xmlns:a14="a" xmlns:m="m"><m:oMathPara>${formula}</m:oMathPara></a14:m>`,
    );
    expect((await read('a.pptx', zipOf(parts))).source.text).toBe(`T\n\n- ${latex}`);
  });

  it('reads tables in cells of tables', async () => {
    const cell = (content: string) => `<w:tc>${content}</w:tc>`;
    const p = (text: string) => `<w:p>${run(text)}</w:p>`;
    const inner = `<w:tbl><w:tr>${cell(p('a'))}${cell(p('b'))}</w:tr><w:tr>${cell(p('c'))}${cell(p('d'))}</w:tr></w:tbl>`;
    const document = docxWith(
      `<w:tbl><w:tr>${cell(p('Name'))}${cell(p('Values'))}</w:tr><w:tr>${cell(p('x'))}${cell(inner)}</w:tr></w:tbl><w:tbl><w:tr>${cell(inner)}</w:tr></w:tbl>`,
    );
    expect((await read('a.docx', document)).source.text).toBe(
      'Name | Values\nx | a b; c d\n\na | b\nc | d',
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
      'Rich text | a b | false |  | 2026-11-23 | 2024-02-29 | 36:00:00 | 30.1 days | 18:00:00 |  | 7% | -50% | end',
    );
  });

  it('gives merged cells to each of their rows', async () => {
    const rows = [
      '<row r="1"><c t="str"><v>Category</v></c><c t="str"><v>Product</v></c><c t="str"><v>Note</v></c></row>',
      '<row r="2"><c t="str"><v>Tools</v></c><c t="str"><v>Drill</v></c><c t="str"><v>see 4</v></c></row>',
      '<row r="3"><c r="B3" t="str"><v>Saw</v></c></row>',
      '<row r="4"><c r="A4" t="str"><v></v></c></row>',
      '<row r="5"><c r="B5" t="str"><v>Hose</v></c></row>',
    ];
    const workbook = xlsxWith(rows.join(''));
    const parts = xlsxParts([{ name: 'A', rows: [['x']] }]);
    const sheet = `<worksheet><sheetData>${rows.join('')}</sheetData><mergeCells count="2"><mergeCell ref="C2:D3"/><x:mergeCell ref="A2:A4" xmlns:x="x"/></mergeCells></worksheet>`;
    const merged = zipOf({ ...parts, 'xl/worksheets/sheet1.xml': sheet });
    expect((await read('a.xlsx', workbook)).source.text).toContain('\n | Saw\n | Hose');
    expect((await read('a.xlsx', merged)).source.text).toBe(
      'Category | Product | Note\nTools | Drill | see 4\nTools | Saw | see 4\n | Hose',
    );
  });

  it.each([
    ['00000', '1234', '01234'],
    ['"PX-"0000', '4711', 'PX-4711'],
    ['"INV/"0', '7', 'INV/7'],
    ['000-0000', '5551234', '555-1234'],
    ['[<=9999999]###-####;(###) ###-####', '2125551234', '(212) 555-1234'],
    ['00\\.00\\.0000', '1022026', '01.02.2026'],
    ['_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-', '-1234.5', '-1234.5 €'],
    ['[$€-407] #,##0.00', '1234.567', '€ 1234.567'],
    ['"Yes";;"No"', '0', 'No'],
    ['#,##0,"k"', '1234567', '1234567'],
    ['# ?/?', '0.75', '0.75'],
    ['00000', '12.5', '12.5'],
    ['[Red]#,##0', '46206', '46206'],
  ])('shows the number of format %s', async (code, value, shown) => {
    const format = code.replaceAll('"', '&quot;').replaceAll('<', '&lt;');
    const workbook = xlsxWith(`<row><c s="1"><v>${value}</v></c></row>`, {
      'xl/styles.xml': `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="${format}"/></numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    });
    expect((await read('a.xlsx', workbook)).source.text).toBe(shown);
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

describe('JSON', () => {
  it('is read with the characters that its escapes stand for, and stays JSON', async () => {
    const value = { 题目: '保修期 "多长"\n\\u4fdd é 😀', path: 'a/b' };
    const text = JSON.stringify(value)
      .replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .replace('a/b', 'a\\/b');
    const { source } = await read('a.json', text);
    expect(source.text).toBe(JSON.stringify(value));
    expect((await read('a.jsonl', `${text}\n${text}`)).source.text).toContain('保修期');
  });
});
