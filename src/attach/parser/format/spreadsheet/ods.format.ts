import type { SourceDocument } from '../../../../fragment/splitter/index.js';
import { missingPart } from '../document-package.js';
import type { DocumentPackage } from '../document-package.js';
import { refuseEncryptedPackage } from '../odt.format.js';
import { BlockWriter, TableWriter } from '../table-writer.js';
import { storable } from '../text/text-encoding.js';
import { attributeOf, ElementSkip } from '../xml-reader.js';
import type { XmlAttributes, XmlHandler } from '../xml-reader.js';
import { digitsOf } from './cell-format.js';
import { MAX_COLUMNS, MergedCells } from './merged-cells.js';

/** Comments, and drawings above the cells. */
const SKIPPED = new Set(['annotation', 'shapes', 'frame', 'custom-shape', 'forms', 'dde-links']);

/** Maximum number of rows and of cells with a value that one element may repeat. */
const MAX_REPEATED = 1_000;

const MAX_ROWS = 1_048_576;

/**
 * Every sheet of an OpenDocument spreadsheet as a table of its own, below its name where there are several: values as
 * those of .xlsx, formulas as what was saved with them.
 */
export async function readOds(document: DocumentPackage): Promise<SourceDocument> {
  await refuseEncryptedPackage(document);
  const isNamed = (await countTables(document)) > 1;
  const writer = new BlockWriter();
  const reader = new SheetReader((name) => new TableWriter(writer, storable(name), isNamed));
  if (!(await document.readXml('content.xml', reader))) throw missingPart('content.xml');
  return { kind: 'table', ...writer.end() };
}

/** Counts the tables, up to two. */
async function countTables(document: DocumentPackage): Promise<number> {
  let tables = 0;
  let rest = '';
  for await (const text of document.textOf('content.xml')) {
    const piece = rest + text;
    tables += piece.match(/<table:table[\s>]/g)?.length ?? 0;
    if (tables > 1) break;
    rest = piece.slice(-'<table:table'.length);
  }
  return tables;
}

interface Cell {
  readonly repeated: number;
  readonly rows: number;
  readonly attributes: XmlAttributes;
  readonly paragraphs: string[];
}

class SheetReader implements XmlHandler {
  private table: TableWriter | undefined;
  private merged = new MergedCells([]);
  private tables = 0;
  private row = 0;
  private repeatedRows = 1;
  private cells: string[] = [];
  private starts: { readonly column: number; readonly rows: number }[] = [];
  /** Empty cells not written yet; they count only if a cell with a value follows. */
  private empty = 0;
  private cell: Cell | undefined;
  private paragraph: string | undefined;
  private readonly skip = new ElementSkip();

  constructor(private readonly begin: (name: string) => TableWriter) {}

  open(name: string, attributes: XmlAttributes): void {
    if (this.skip.enter()) return;
    if (SKIPPED.has(name)) this.skip.begin();
    else if (name === 'table') this.startTable(attributes);
    else if (name === 'table-row') this.startRow(attributes);
    else if (name === 'table-cell') this.startCell(attributes);
    else if (name === 'covered-table-cell') this.empty += repeatedIn(attributes, 'columns');
    else if (this.cell && name === 'p') this.paragraph = '';
    else if (this.paragraph !== undefined) this.addBlank(name, attributes);
  }

  text(text: string): void {
    if (!this.skip.isActive && this.paragraph !== undefined) this.paragraph += text;
  }

  close(name: string): void {
    if (this.skip.leave()) return;
    if (name === 'p' && this.cell && this.paragraph !== undefined) {
      this.cell.paragraphs.push(this.paragraph);
      this.paragraph = undefined;
    } else if (name === 'table-cell') this.endCell();
    else if (name === 'table-row') this.endRow();
    else if (name === 'table') this.endTable();
  }

  private startTable(attributes: XmlAttributes): void {
    this.tables += 1;
    if (this.tables > 1) return;
    this.table = this.begin(attributeOf(attributes, 'name') ?? '');
    this.merged = new MergedCells([]);
    this.row = 0;
  }

  private endTable(): void {
    this.tables -= 1;
    if (this.tables > 0) return;
    this.table?.end();
    this.table = undefined;
  }

  private startRow(attributes: XmlAttributes): void {
    this.repeatedRows = repeatedIn(attributes, 'rows');
    this.cells = [];
    this.starts = [];
    this.empty = 0;
  }

  private startCell(attributes: XmlAttributes): void {
    const rows = Number(attributeOf(attributes, 'number-rows-spanned')) || 1;
    this.cell = { repeated: repeatedIn(attributes, 'columns'), rows, attributes, paragraphs: [] };
  }

  private endCell(): void {
    const { cell } = this;
    this.cell = undefined;
    if (!cell) return;
    const value = storable(valueOf(cell)).trim();
    if (value === '') {
      this.empty = Math.min(this.empty + cell.repeated, MAX_COLUMNS);
      return;
    }
    while (this.empty > 0 && this.cells.length < MAX_COLUMNS) {
      this.cells.push('');
      this.empty -= 1;
    }
    this.empty = 0;
    if (cell.rows > 1) this.starts.push({ column: this.cells.length, rows: cell.rows });
    for (let time = 0; time < Math.min(cell.repeated, MAX_REPEATED); time += 1) {
      if (this.cells.length < MAX_COLUMNS) this.cells.push(value);
    }
  }

  private endRow(): void {
    const times = this.cells.length > 0 ? Math.min(this.repeatedRows, MAX_REPEATED) : 0;
    for (let time = 0; time < times; time += 1) {
      const row = this.row + time + 1;
      const cells = [...this.cells];
      this.merged.fill(row, cells);
      for (const { column, rows } of this.starts) {
        this.merged.begin({ column, lastRow: row + rows - 1, text: cells[column] ?? '' });
      }
      this.table?.add(row, cells);
    }
    this.row = Math.min(this.row + this.repeatedRows, MAX_ROWS);
  }

  private addBlank(name: string, attributes: XmlAttributes): void {
    if (this.paragraph === undefined) return;
    if (name === 's')
      this.paragraph += ' '.repeat(Math.min(Number(attributeOf(attributes, 'c')) || 1, 100));
    else if (name === 'tab' || name === 'line-break') this.paragraph += ' ';
  }
}

function repeatedIn(attributes: XmlAttributes, of: 'rows' | 'columns'): number {
  const count = Math.trunc(Number(attributeOf(attributes, `number-${of}-repeated`)));
  return count > 1 ? count : 1;
}

function valueOf({ attributes, paragraphs }: Cell): string {
  const displayText = paragraphs.join('\n');
  const of = (name: string) => attributes[`office:${name}`];
  switch (of('value-type')) {
    case 'float':
      return numberOf(of('value'), displayText);
    case 'currency': {
      const digits = numberOf(of('value'), '');
      return [digits, of('currency') ?? ''].filter((part) => part !== '').join(' ');
    }
    case 'percentage': {
      const value = Number(of('value'));
      return Number.isNaN(value) ? displayText : `${digitsOf(value * 100)}%`;
    }
    case 'date':
      return of('date-value')?.replace(/T00:00:00(?:\.0+)?$/, '') ?? displayText;
    case 'time':
      return durationOf(of('time-value')) ?? displayText;
    case 'boolean':
      return of('boolean-value') ?? displayText;
    default:
      return displayText;
  }
}

/** All digits of the value; what is shown where that says more with the same digits, such as 01234, PX-4711 or 12.5 days. */
function numberOf(value: string | undefined, displayText: string): string {
  const number = Number(value ?? NaN);
  if (Number.isNaN(number)) return displayText;
  const digits = digitsOf(number);
  const bare = (text: string) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  if (bare(displayText) !== bare(digits)) return digits;
  const isCode = /^0\d|[-/]\d|\p{L}/u.test(displayText) && !/\d[,.\s\u00a0]\d/.test(displayText);
  return isCode || displayText.includes(digits) ? displayText : digits;
}

/** PT12H30M00S as 12:30:00. */
function durationOf(value: string | undefined): string | undefined {
  const match = /^(-?)PT(\d+)H(\d+)M(\d+)/.exec(value ?? '');
  if (!match) return undefined;
  const [, sign = '', ...parts] = match;
  return `${sign}${parts.map((part) => part.padStart(2, '0')).join(':')}`;
}
