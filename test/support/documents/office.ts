import { zipSync } from 'fflate';

export const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
export const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** A block of a Word document. */
export type DocxPart =
  | { readonly heading: string; readonly level: number }
  | { readonly paragraph: string; readonly note?: string }
  | { readonly item: string; readonly level?: number }
  /** Cells that are null continue the cell above them. */
  | { readonly table: readonly (readonly (string | null)[])[] };

/** A cell as it is saved: a date is a number with a date format, a formula has its saved value. */
export type XlsxCell = string | number | boolean | Date | null | { formula: string; value: number };

export interface XlsxSheet {
  readonly name: string;
  /** From row 1; an empty row is left out of the file, as Excel does. */
  readonly rows: readonly (readonly XlsxCell[])[];
}

/** A zip of these parts. */
export function zipOf(parts: Readonly<Record<string, string | Buffer>>): Buffer {
  return Buffer.from(
    zipSync(
      Object.fromEntries(
        Object.entries(parts).map(([name, content]) => [name, Buffer.from(content)]),
      ),
    ),
  );
}

export function docxOf(parts: readonly DocxPart[]): Buffer {
  return zipOf(docxParts(parts));
}

/** The files in a .docx, to be changed before they are zipped. */
export function docxParts(parts: readonly DocxPart[]): Record<string, string> {
  const notes = parts.flatMap((part) =>
    'note' in part && part.note !== undefined ? [part.note] : [],
  );
  let note = 0;
  const body = parts.map((part) => {
    if ('table' in part) return tableXml(part.table);
    if ('heading' in part) return paragraphXml(part.heading, style(`Heading${part.level}`));
    if ('item' in part) return paragraphXml(part.item, numbering(part.level ?? 0));
    if (part.note === undefined) return paragraphXml(part.paragraph);
    note += 1;
    return paragraphXml(part.paragraph, '', `<w:r><w:footnoteReference w:id="${note}"/></w:r>`);
  });
  return {
    '[Content_Types].xml': contentTypes({
      'word/document.xml': 'wordprocessingml.document.main',
      'word/styles.xml': 'wordprocessingml.styles',
      'word/numbering.xml': 'wordprocessingml.numbering',
      'word/footnotes.xml': 'wordprocessingml.footnotes',
    }),
    '_rels/.rels': relationships({ officeDocument: 'word/document.xml' }),
    'word/_rels/document.xml.rels': relationships({
      styles: 'styles.xml',
      numbering: 'numbering.xml',
      footnotes: 'footnotes.xml',
    }),
    'word/document.xml': word('document', `<w:body>${body.join('')}</w:body>`),
    'word/styles.xml': word('styles', [1, 2, 3, 4, 5, 6].map(headingStyle).join('')),
    'word/numbering.xml': word(
      'numbering',
      `<w:abstractNum w:abstractNumId="0">${[0, 1, 2].map(listLevel).join('')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`,
    ),
    'word/footnotes.xml': word(
      'footnotes',
      notes
        .map((text, index) => `<w:footnote w:id="${index + 1}">${paragraphXml(text)}</w:footnote>`)
        .join(''),
    ),
  };
}

export function xlsxOf(sheets: readonly XlsxSheet[]): Buffer {
  return zipOf(xlsxParts(sheets));
}

/** The files in an .xlsx, to be changed before they are zipped. */
export function xlsxParts(sheets: readonly XlsxSheet[]): Record<string, string> {
  const strings: string[] = [];
  const worksheets = sheets.map(({ rows }, index): [string, string] => [
    `xl/worksheets/sheet${index + 1}.xml`,
    spreadsheet('worksheet', `<sheetData>${rows.map(rowXml(strings)).join('')}</sheetData>`),
  ]);
  const list = sheets.map(
    ({ name }, index) =>
      `<sheet name="${escaped(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
  );
  const links = Object.fromEntries(
    sheets.map((_, index) => [`worksheet ${index}`, `worksheets/sheet${index + 1}.xml`]),
  );
  return {
    '[Content_Types].xml': contentTypes({ 'xl/workbook.xml': 'spreadsheetml.sheet.main' }),
    '_rels/.rels': relationships({ officeDocument: 'xl/workbook.xml' }),
    'xl/workbook.xml': spreadsheet('workbook', `<sheets>${list.join('')}</sheets>`),
    'xl/_rels/workbook.xml.rels': relationships({
      ...links,
      styles: 'styles.xml',
      sharedStrings: 'sharedStrings.xml',
    }),
    // Style 1 is a date, format 14; style 2 a date with a time, format 22.
    'xl/styles.xml': spreadsheet(
      'styleSheet',
      '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>',
    ),
    ...Object.fromEntries(worksheets),
    'xl/sharedStrings.xml': spreadsheet(
      'sst',
      strings.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join(''),
    ),
  };
}

function rowXml(strings: string[]) {
  return (cells: readonly XlsxCell[], index: number): string => {
    const row = index + 1;
    const written = cells.map((cell, column) => cellXml(cell, `${letters(column)}${row}`, strings));
    return cells.length === 0 ? '' : `<row r="${row}">${written.join('')}</row>`;
  };
}

function cellXml(cell: XlsxCell, place: string, strings: string[]): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${Number(cell)}</v></c>`;
  if (typeof cell === 'string') {
    return `<c r="${place}" t="s"><v>${strings.push(cell) - 1}</v></c>`;
  }
  if (cell instanceof Date) {
    // Days since the last but one day of 1899.
    const serial = cell.getTime() / 86_400_000 + 25_569;
    return `<c r="${place}" s="${Number.isInteger(serial) ? 1 : 2}"><v>${serial}</v></c>`;
  }
  return `<c r="${place}"><f>${escaped(cell.formula)}</f><v>${cell.value}</v></c>`;
}

/** A, B, … Z, AA, … for 0, 1, … 25, 26, … */
function letters(column: number): string {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : letters(Math.floor(column / 26) - 1) + last;
}

function tableXml(rows: readonly (readonly (string | null)[])[]): string {
  const cell = (text: string | null, row: number, column: number) => {
    const below = rows[row + 1]?.[column] === null;
    const merge = text === null ? '<w:vMerge/>' : below ? '<w:vMerge w:val="restart"/>' : '';
    return `<w:tc><w:tcPr>${merge}</w:tcPr>${paragraphXml(text ?? '')}</w:tc>`;
  };
  return `<w:tbl>${rows
    .map(
      (cells, row) =>
        `<w:tr>${cells.map((text, column) => cell(text, row, column)).join('')}</w:tr>`,
    )
    .join('')}</w:tbl>`;
}

function paragraphXml(text: string, properties = '', after = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${escaped(text)}</w:t></w:r>${after}</w:p>`;
}

function style(id: string): string {
  return `<w:pStyle w:val="${id}"/>`;
}

function headingStyle(level: number): string {
  return `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`;
}

function numbering(level: number): string {
  return `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="1"/></w:numPr>`;
}

function listLevel(level: number): string {
  return `<w:lvl w:ilvl="${level}"><w:numFmt w:val="bullet"/></w:lvl>`;
}

function word(root: string, content: string): string {
  return `${DECLARATION}<w:${root} xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">${content}</w:${root}>`;
}

function spreadsheet(root: string, content: string): string {
  return `${DECLARATION}<${root} xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="${OFFICE}">${content}</${root}>`;
}

export function contentTypes(parts: Readonly<Record<string, string>>): string {
  const overrides = Object.entries(parts).map(
    ([name, type]) =>
      `<Override PartName="/${name}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`,
  );
  return `${DECLARATION}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`;
}

/** Each as its id, its type and what it leads to. */
export function linked(links: readonly (readonly [string, string, string])[]): string {
  const written = links.map(
    ([id, type, target]) =>
      `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `${DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${written.join('')}</Relationships>`;
}

/** By their type; what follows a space only keeps the names apart. */
export function relationships(targets: Readonly<Record<string, string>>): string {
  const links = Object.entries(targets).map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type.replace(/ .*/, '')}" Target="${target}"/>`,
  );
  return `${DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${links.join('')}</Relationships>`;
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
