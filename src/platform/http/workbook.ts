import { setImmediate } from 'node:timers/promises';
import { Zip, ZipDeflate } from 'fflate';

/** The value of a cell. The cell shows the UTC fields of a Date, because spreadsheets have no time zones. */
export type Cell = string | number | boolean | Date | null;

/** One column: its header, or with it the words for codes, or how the cell is read. */
type ColumnOf<Row, Value> =
  | string
  | readonly [header: string, words: Readonly<Record<string, string>>]
  | readonly [header: string, read: (value: Value, row: Row) => Cell];

/** The columns of a sheet by the fields of its rows, in order. */
export type ColumnsOf<Row> = { readonly [Field in keyof Row]?: ColumnOf<Row, Row[Field]> };

interface Column<Row> {
  readonly header: string;
  readonly width: number;
  readonly read: (row: Row) => Cell;
}

/** A worksheet. The values of its first column differ from row to row. */
export interface Sheet<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
}

/**
 * A sheet with a header for people over each column. Texts of the wire's form in fields called …Time or …Date become dates,
 * lists become comma lists.
 */
export function sheetOf<Row extends object>(name: string, columns: ColumnsOf<Row>): Sheet<Row> {
  const entries = Object.entries(columns) as [keyof Row & string, ColumnOf<Row, never>][];
  return {
    name,
    columns: entries.map(([field, column]) => {
      const [header, how] = typeof column === 'string' ? [column] : column;
      const width = isTimeField(field) ? TIME_WIDTH : Math.max(header.length + 4, WIDTH);
      return { header, width, read: (row) => cellOf(field, row, how) };
    }),
  };
}

const WIDTH = 16;
const TIME_WIDTH = 20;
const WIRE_TIME = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)$/;

function isTimeField(field: string): boolean {
  return /(Time|Date)$/.test(field);
}

type Reading<Row> = Readonly<Record<string, string>> | ((value: never, row: Row) => Cell);

function cellOf<Row extends object>(
  field: keyof Row & string,
  row: Row,
  how: Reading<Row> | undefined,
): Cell {
  const value: unknown = row[field];
  if (typeof how === 'function') return how(value as never, row);
  if (how) return how[String(value)] ?? plain(value);
  const time = typeof value === 'string' && isTimeField(field) ? WIRE_TIME.exec(value) : null;
  if (!time) return plain(value);
  const [year = 0, month = 1, ...rest] = time.slice(1).map(Number);
  return new Date(Date.UTC(year, month - 1, ...rest));
}

function plain(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((one) => String(plain(one))).join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return value as Cell;
}

/** Characters of the sheet that are compressed at once: about a millisecond of work. */
const PIECE_CHARS = 64 * 1_024;

/** Limit of the characters of a cell in Excel. */
const MAX_CELL_CHARS = 32_767;

/** The earliest time that an archive can name; a fixed time gives the same bytes for the same rows. */
const ARCHIVE_TIME = '1980-01-01T00:00:00';

/** The cell formats, by their places in the list of `STYLES`. */
const Format = { text: 0, header: 1, time: 2, literal: 3 } as const;

/**
 * The bytes of an .xlsx file (ECMA-376) with one sheet, written while the rows arrive: a piece is compressed when it is
 * asked for. Every text is a text cell, never a formula, and one that looks like the begin of a formula stays a text when
 * it is edited. `note`, if it answers one, becomes the last row.
 */
export async function* workbook<Row>(
  sheet: Sheet<Row>,
  pages: AsyncIterable<readonly Row[]>,
  note: () => string | undefined = () => undefined,
): AsyncGenerator<Uint8Array, void> {
  const output: Uint8Array[] = [];
  const zip = new Zip((error, bytes) => {
    if (error) throw error;
    output.push(bytes);
  });
  const add = (name: string): ZipDeflate => {
    const file = new ZipDeflate(name, { level: 4 });
    file.mtime = ARCHIVE_TIME;
    zip.add(file);
    return file;
  };
  for (const [name, text] of Object.entries(parts(sheet))) add(name).push(bytesOf(text), true);
  const file = add('xl/worksheets/sheet1.xml');
  const writer = new SheetWriter(sheet);
  for await (const rows of pages) {
    for (const row of rows) {
      writer.add(row);
      if (writer.length < PIECE_CHARS) continue;
      file.push(bytesOf(writer.take()));
      yield* output.splice(0);
      await setImmediate();
    }
  }
  const last = note();
  if (last !== undefined) writer.note(last);
  file.push(bytesOf(writer.end()), true);
  zip.end();
  yield* output;
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

/** The text of the worksheet. */
class SheetWriter<Row> {
  private text: string;
  private rows = 0;

  constructor(private readonly sheet: Sheet<Row>) {
    const widths = sheet.columns.map(
      ({ width }, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`,
    );
    this.text = `${XML}<worksheet ${MAIN}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join('')}</cols><sheetData>`;
    const headers = sheet.columns.map(({ header }) => header);
    this.write(headers, () => Format.header);
  }

  get length(): number {
    return this.text.length;
  }

  add(row: Row): void {
    this.write(this.sheet.columns.map(({ read }) => read(row)));
  }

  note(text: string): void {
    this.write([text]);
  }

  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }

  end(): string {
    return `${this.take()}</sheetData></worksheet>`;
  }

  private write(cells: readonly Cell[], format: (cell: Cell) => number = formatOf): void {
    this.rows += 1;
    const texts = cells.map((cell, at) =>
      cellText(`${letters(at)}${this.rows}`, cell, format(cell)),
    );
    this.text += `<row r="${this.rows}">${texts.join('')}</row>`;
  }
}

function formatOf(cell: Cell): number {
  if (cell instanceof Date) return Format.time;
  return typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? Format.literal : Format.text;
}

function cellText(place: string, cell: Cell, format: number): string {
  if (cell === null || cell === '') return '';
  const start = `<c r="${place}" s="${format}"`;
  if (cell instanceof Date) return `${start}><v>${serial(cell)}</v></c>`;
  if (typeof cell === 'boolean') return `${start} t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'number') {
    return Number.isFinite(cell) ? `${start}><v>${cell}</v></c>` : '';
  }
  return `${start} t="inlineStr"><is><t xml:space="preserve">${escaped(fitting(cell))}</t></is></c>`;
}

const DAY_MS = 86_400_000;
/** Day 0 of spreadsheets for all dates since March 1900. */
const DAY_ZERO = Date.UTC(1899, 11, 30);

function serial(date: Date): number {
  return (date.getTime() - DAY_ZERO) / DAY_MS;
}

function fitting(text: string): string {
  return text.length <= MAX_CELL_CHARS ? text : `${text.slice(0, MAX_CELL_CHARS - 1)}…`;
}

/** Characters that XML cannot hold are written as _xHHHH_, as is what would be read as such. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/_(?=x[\da-fA-F]{4}_)/g, '_x005F_')
    .replace(UNWRITABLE, (character) => {
      const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
      return `_x${code}_`;
    })
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;');
}

const UNWRITABLE = /(?![\t\n\r])[\p{Cc}\ufffe\uffff]/gu;

/** The name of a column: A, B, … Z, AA, … */
function letters(at: number): string {
  const rest = Math.floor(at / 26);
  return `${rest === 0 ? '' : letters(rest - 1)}${String.fromCharCode(65 + (at % 26))}`;
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const SCHEMAS = 'http://schemas.openxmlformats.org';
const MAIN = `xmlns="${SCHEMAS}/spreadsheetml/2006/main"`;
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Texts, the bold header, dates with their time, and texts that stay texts when they are edited. */
const STYLES = `${XML}<styleSheet ${MAIN}><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/></cellXfs></styleSheet>`;

/** The files of the package beside the worksheet. */
function parts({ name }: Sheet<never>): Record<string, string> {
  const relations = (items: readonly (readonly [type: string, target: string])[]): string =>
    `${XML}<Relationships xmlns="${SCHEMAS}/package/2006/relationships">${items
      .map(
        ([type, target], at) =>
          `<Relationship Id="rId${at + 1}" Type="${SCHEMAS}/officeDocument/2006/relationships/${type}" Target="${target}"/>`,
      )
      .join('')}</Relationships>`;
  const override = (path: string, type: string): string =>
    `<Override PartName="${path}" ContentType="${TYPES}.${type}+xml"/>`;
  return {
    '[Content_Types].xml': `${XML}<Types xmlns="${SCHEMAS}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${override('/xl/workbook.xml', 'sheet.main')}${override('/xl/worksheets/sheet1.xml', 'worksheet')}${override('/xl/styles.xml', 'styles')}</Types>`,
    '_rels/.rels': relations([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `${XML}<workbook ${MAIN} xmlns:r="${SCHEMAS}/officeDocument/2006/relationships"><sheets><sheet name="${escaped(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations([
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
    ]),
    'xl/styles.xml': STYLES,
  };
}
