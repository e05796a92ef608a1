/** A minimal PDF 1.7 with one page per text, whose lines stand below each other; an empty text is an empty page. */
export function pdfOf(pages: readonly string[]): Buffer {
  return pdfWithContents(pages.map((text) => ({ content: Buffer.from(showing(text), 'latin1') })));
}

export interface PlacedText {
  readonly text: string;
  readonly x: number;
  /** From the bottom of the page, which is 842 high and 595 wide. */
  readonly y: number;
  /** Of the letters; 10 without it. */
  readonly size?: number;
}

/** From one point to another. */
export type DrawnLine = readonly [number, number, number, number];

/** A PDF whose pages have each text at its place, in the order in which they are given, and lines. */
export function placedPdf(
  pages: readonly (readonly PlacedText[])[],
  lines: readonly DrawnLine[] = [],
): Buffer {
  const drawn = lines.map(([x, y, toX, toY]) => `${x} ${y} m ${toX} ${toY} l S`);
  return pdfWithContents(
    pages.map((texts) => {
      const shown = texts.map(
        ({ text, x, y, size = 10 }) =>
          `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${text.replace(/[\\()]/g, '\\$&')}) Tj ET`,
      );
      return { content: Buffer.from([...drawn, ...shown].join('\n'), 'latin1') };
    }),
  );
}

export interface FormField {
  readonly value: string;
  readonly x: number;
  readonly y: number;
  /** Whether the file says how the value looks; else its reader has to. */
  readonly drawn: boolean;
}

/** A PDF of one page with texts at their places, and a form whose fields are filled in. */
export function filledForm(texts: readonly PlacedText[], fields: readonly FormField[]): Buffer {
  const stream = (entries: string, content: string) =>
    `<< ${entries}/Length ${content.length} >>\nstream\n${content}\nendstream`;
  const written = (x: number, y: number, text: string) =>
    `BT /F1 10 Tf ${x} ${y} Td (${text.replace(/[\\()]/g, '\\$&')}) Tj ET`;
  const fonts = '/Font << /F1 3 0 R >>';
  const ids = fields.map((_, index) => `${6 + 2 * index} 0 R`).join(' ');
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [${ids}] /NeedAppearances ${String(fields.some(({ drawn }) => !drawn))} /DA (/F1 10 Tf 0 g) /DR << ${fonts} >> >> >>`,
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << ${fonts} >> /Annots [${ids}] >>`,
    stream('', texts.map(({ text, x, y }) => written(x, y, text)).join('\n')),
    ...fields.flatMap(({ value, x, y, drawn }, index) => [
      `<< /Type /Annot /Subtype /Widget /FT /Tx /T (field${index}) /V (${value}) /F 4 /DA (/F1 10 Tf 0 g) /Rect [${x} ${y} ${x + 200} ${y + 20}] ${drawn ? `/AP << /N ${7 + 2 * index} 0 R >> ` : ''}>>`,
      // Drawn twice as large as its place.
      stream(
        `/Type /XObject /Subtype /Form /BBox [0 0 400 40] /Resources << ${fonts} >> `,
        `0 0 400 40 re S /Tx BMC q BT /F1 20 Tf 4 10 Td (${value}) Tj ET Q EMC`,
      ),
    ]),
  ];
  return assembled(
    objects.map((object) => Buffer.from(object)),
    '',
  );
}

/** A PDF with one line of glyphs as wide as their font size, which are drawn from left to right; each stands for its text
 * (a ToUnicode map says so), which may be several characters.
 */
export function glyphPdf(glyphs: readonly string[]): Buffer {
  const codes = glyphs.map((_, index) => (index + 1).toString(16).padStart(4, '0'));
  const map = glyphs.map((text, index) => {
    const utf16 = Buffer.from(text, 'utf16le').swap16().toString('hex');
    return `<${codes[index]}> <${utf16}>`;
  });
  const toUnicode = [
    '/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def',
    '1 begincodespacerange <0000> <FFFF> endcodespacerange',
    `${map.length} beginbfchar`,
    ...map,
    'endbfchar endcmap end end',
  ].join('\n');
  const content = `BT /F1 10 Tf 50 800 Td <${codes.join('')}> Tj ET`;
  const stream = (text: string) => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    '<< /Type /Font /Subtype /Type0 /BaseFont /Naskh /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 8 0 R >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>',
    stream(content),
    '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Naskh /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 7 0 R /DW 1000 >>',
    '<< /Type /FontDescriptor /FontName /Naskh /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 900 /StemV 90 >>',
    stream(toUnicode),
  ];
  return assembled(
    objects.map((object) => Buffer.from(object)),
    '',
  );
}

/** A PDF whose pages have these content streams, with the filter they are packed with. */
export function pdfWithContents(
  pages: readonly { readonly content: Buffer; readonly filter?: 'FlateDecode' }[],
): Buffer {
  const pageIds = pages.map((_, index) => 4 + 2 * index);
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(
      `<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    ),
    Buffer.from(
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    ),
  ];
  for (const { content, filter } of pages) {
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${objects.length + 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      ),
      Buffer.concat([
        Buffer.from(
          `<< /Length ${content.length}${filter ? ` /Filter /${filter}` : ''} >>\nstream\n`,
        ),
        content,
        Buffer.from('\nendstream'),
      ]),
    );
  }
  return assembled(objects, '');
}

/** A stream with the entries of its dictionary besides its length. */
export function pdfStream(content: string, entries = ''): string {
  return `<< ${entries} /Length ${Buffer.byteLength(content, 'latin1')} >>\nstream\n${content}\nendstream`;
}

/**
 * A PDF of one page with this content, which may use the font F1, the resources and the objects that are given: they are
 * numbered from 6. Entries of the catalogue, such as those of layers, come in addition.
 */
export function customPdf(
  content: string,
  { resources = '', catalog = '', objects = [] as readonly string[], page = '' } = {},
): Buffer {
  return assembled(
    [
      `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
      '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> ${resources} >> ${page} >>`,
      pdfStream(content),
      ...objects,
    ].map((object) => Buffer.from(object, 'latin1')),
    '',
  );
}

/** Objects numbered from 1, with the table that tells where each one begins; the first is the catalogue. */
function assembled(objects: readonly Buffer[], trailer: string): Buffer {
  const parts = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let offset = parts[0]?.length ?? 0;
  objects.forEach((object, index) => {
    offsets.push(offset);
    const part = Buffer.concat([
      Buffer.from(`${index + 1} 0 obj\n`),
      object,
      Buffer.from('\nendobj\n'),
    ]);
    parts.push(part);
    offset += part.length;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer}>>\nstartxref\n${offset}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

/** A PDF whose text is in an East Asian font that is not embedded: its codes are those of a predefined CMap. */
export function eastAsianPdf(font: {
  /** Such as GBK-EUC-H. */
  readonly characterMap: string;
  /** Adobe's collection of glyphs, such as GB1. */
  readonly collection: string;
  readonly codes: Buffer;
}): Buffer {
  const { characterMap, collection, codes } = font;
  const content = `BT /F1 12 Tf 50 800 Td <${codes.toString('hex')}> Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    `<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /${characterMap} /DescendantFonts [6 0 R] >>`,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (${collection}) /Supplement 2 >> /FontDescriptor 7 0 R >>`,
    '<< /Type /FontDescriptor /FontName /Song /Flags 6 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 900 /StemV 90 >>',
  ];
  return assembled(
    objects.map((object) => Buffer.from(object)),
    '',
  );
}

/** A PDF whose pages have lines of Chinese at these heights, in a font that is not embedded. */
export function eastAsianPages(
  pages: readonly (readonly (readonly [text: string, y: number])[])[],
): Buffer {
  const idOf = (page: number) => 6 + 2 * page;
  const kids = pages.map((_, page) => `${idOf(page)} 0 R`).join(' ');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /UniGB-UCS2-H /DescendantFonts [4 0 R] >>',
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor 5 0 R >>',
    '<< /Type /FontDescriptor /FontName /Song /Flags 6 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 900 /StemV 90 >>',
    ...pages.flatMap((lines, page) => {
      const content = lines
        .map(([text, y]) => {
          const codes = Buffer.from(text, 'utf16le').swap16().toString('hex');
          return `BT /F1 12 Tf 1 0 0 1 60 ${y} Tm <${codes}> Tj ET`;
        })
        .join('\n');
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${idOf(page) + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  return assembled(
    objects.map((object) => Buffer.from(object)),
    '',
  );
}

/** A PDF that opens only with a password (standard security handler, revision 2). */
export function encryptedPdf(): Buffer {
  const objects = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from('<< /Type /Pages /Kids [] /Count 0 >>'),
    Buffer.from(
      `<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`,
    ),
  ];
  const id = '<00112233445566778899aabbccddeeff>';
  return assembled(objects, `/Encrypt 3 0 R /ID [${id} ${id}] `);
}

/** Draws each line 14 points below the one before; an empty line leaves a gap. */
function showing(text: string): string {
  if (text === '') return '';
  const lines = text
    .split('\n')
    .map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`)
    .join(' ');
  return `BT /F1 12 Tf 50 800 Td 14 TL ${lines} ET`;
}

/** A page of a scanned PDF: an image over the whole page, a text, or nothing. */
export interface ScannedPage {
  readonly image?: Buffer;
  /** How the image is compressed; JPEG unless given. */
  readonly filter?: string;
  readonly size?: readonly [width: number, height: number];
  readonly text?: string;
}

/** A PDF whose pages are images, as scanners make it. */
export function scannedPdf(pages: readonly ScannedPage[]): Buffer {
  const idOf = (page: number) => 4 + 3 * page;
  const kids = pages.map((_, page) => `${idOf(page)} 0 R`).join(' ');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ].map((object) => Buffer.from(object));
  pages.forEach(({ image, filter = 'DCTDecode', size: [width, height] = [1, 1], text }, page) => {
    const id = idOf(page);
    const draw = image ? 'q 595 0 0 842 0 0 cm /I Do Q' : showing(text ?? '');
    const color =
      filter === 'DCTDecode' ? '/DeviceRGB /BitsPerComponent 8' : '/DeviceGray /BitsPerComponent 1';
    const parameters =
      filter === 'CCITTFaxDecode'
        ? `/DecodeParms << /K -1 /Columns ${width} /Rows ${height} >>`
        : '';
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${id + 1} 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /I ${id + 2} 0 R >> >> >>`,
      ),
      Buffer.from(`<< /Length ${draw.length} >>\nstream\n${draw}\nendstream`),
      Buffer.concat([
        Buffer.from(
          `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace ${color} /Filter /${filter} ${parameters} /Length ${image?.length ?? 0} >>\nstream\n`,
        ),
        image ?? Buffer.alloc(0),
        Buffer.from('\nendstream'),
      ]),
    );
  });
  return assembled(objects, '');
}
