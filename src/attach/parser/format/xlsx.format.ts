import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import { BlockWriter, TableWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { attributeOf, isOn, relationshipIn } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

/** What a number format shows: a number, a percentage, a date with or without a time, or a duration. */
type NumberKind = 'number' | 'percentage' | 'date' | 'duration';

/** The percentages among the formats that are not in the file. */
const BUILT_IN_PERCENTAGES: readonly number[] = [9, 10];

/** The dates among the formats that are not in the file, in the locales that have their own (ECMA-376 part 1, 18.8.30). */
const BUILT_IN_DATES: readonly (readonly [number, number])[] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
  [71, 81],
];

/** Excel has no more; a reference beyond is a mistake. */
const COLUMN_LIMIT = 16_384;

const DAY_MS = 86_400_000;

/** Day 0 of the two calendars of Excel. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);

/**
 * Every sheet of a workbook as a table of its own, below its name where there are several; formulas as the values that were saved with them. Sheets are read
 * row by row. A cell without a reference follows the one before it (ECMA-376 part 1, 18.3.1.4).
 */
export async function readXlsx(document: DocumentPackage): Promise<SourceDocument> {
  const main = await document.mainPart('xl/workbook.xml');
  const workbook = new WorkbookReader();
  if (!(await document.readXml(main, workbook))) {
    throw missingPart(main);
  }
  const links = await document.relationshipsOf(main);
  const linked = (type: string) => links.find((link) => link.type === type)?.target;
  const strings = new SharedStringReader();
  await document.readXml(linked('sharedStrings') ?? 'xl/sharedStrings.xml', strings);
  const styles = new StyleReader();
  await document.readXml(linked('styles') ?? 'xl/styles.xml', styles);
  const values: CellValues = {
    strings: strings.found,
    kinds: styles.kinds,
    epoch: workbook.from1904 ? EPOCH_1904 : EPOCH_1900,
  };
  const writer = new BlockWriter();
  for (const { name, id } of workbook.sheets) {
    const link = links.find((found) => found.id === id);
    // The others are charts and dialogs.
    if (link?.type !== 'worksheet') continue;
    const table = new TableWriter(writer, storable(name), workbook.sheets.length > 1);
    await document.readXml(link.target, new SheetReader(table, values));
    table.end();
  }
  return { kind: 'table', ...writer.end() };
}

class WorkbookReader implements XmlHandler {
  readonly sheets: { readonly name: string; readonly id: string }[] = [];
  from1904 = false;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'sheet') {
      const sheet = attributeOf(attributes, 'name') ?? '';
      this.sheets.push({ name: sheet, id: relationshipIn(attributes) ?? '' });
    } else if (name === 'workbookPr') {
      const value = attributeOf(attributes, 'date1904');
      this.from1904 = value !== undefined && isOn(value);
    }
  }

  close(): void {}
}

class SharedStringReader implements XmlHandler {
  readonly found: string[] = [];
  private readonly string = new StringItem();

  open(name: string): void {
    if (name === 'si') this.string.begin();
    else this.string.open(name);
  }

  text(text: string): void {
    this.string.add(text);
  }

  close(name: string): void {
    if (name === 'si') this.found.push(this.string.end());
    else this.string.close(name);
  }
}

/** The text of a string that may consist of runs; without its pronunciation. */
class StringItem {
  private written = '';
  private reading = false;
  private phonetic = false;

  begin(): void {
    this.written = '';
  }

  open(name: string): void {
    if (name === 't') this.reading = !this.phonetic;
    else if (name === 'rPh') this.phonetic = true;
  }

  add(text: string): void {
    if (this.reading) this.written += text;
  }

  close(name: string): void {
    if (name === 't') this.reading = false;
    else if (name === 'rPh') this.phonetic = false;
  }

  end(): string {
    return unescaped(this.written);
  }
}

/** Which kind of number each style of cells shows. */
class StyleReader implements XmlHandler {
  readonly kinds: NumberKind[] = [];
  private readonly custom = new Map<number, NumberKind>();
  private inCells = false;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'numFmt') {
      const id = Number(attributeOf(attributes, 'numFmtId'));
      this.custom.set(id, kindOfFormat(attributeOf(attributes, 'formatCode') ?? ''));
    } else if (name === 'cellXfs') this.inCells = true;
    else if (name === 'xf' && this.inCells) {
      this.kinds.push(this.kindOf(Number(attributeOf(attributes, 'numFmtId') ?? 0)));
    }
  }

  close(name: string): void {
    if (name === 'cellXfs') this.inCells = false;
  }

  private kindOf(id: number): NumberKind {
    const custom = this.custom.get(id);
    if (custom) return custom;
    if (id === 46) return 'duration';
    if (BUILT_IN_PERCENTAGES.includes(id)) return 'percentage';
    return BUILT_IN_DATES.some(([first, last]) => id >= first && id <= last) ? 'date' : 'number';
  }
}

/** By the first of its sections, which is that of positive numbers. */
function kindOfFormat(code: string): NumberKind {
  const bare = code.replace(/\\.|_.|\*.|"[^"]*"?/g, ' ').toLowerCase();
  const [section = ''] = bare.split(';');
  if (/\[(?:h+|m+|s+)\]/.test(section)) return 'duration';
  const tokens = section.replace(/\[[^\]]*\]/g, ' ').replace(/am\/pm|a\/p|general|standard/g, ' ');
  if (tokens.includes('%')) return 'percentage';
  if (/[#?]|e[+-]/.test(tokens)) return 'number';
  return /[dmyhs]/.test(tokens) ? 'date' : 'number';
}

interface CellValues {
  readonly strings: readonly string[];
  readonly kinds: readonly NumberKind[];
  /** Of serial number 0, in milliseconds. */
  readonly epoch: number;
}

class SheetReader implements XmlHandler {
  private row = 0;
  private cells: string[] = [];
  private type = 'n';
  private style = 0;
  private value = '';
  private reading = false;
  private inCell = false;
  private readonly inline = new StringItem();

  constructor(
    private readonly table: TableWriter,
    private readonly values: CellValues,
  ) {}

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'c') this.startCell(attributes);
    else if (name === 'row') this.startRow(attributes);
    else if (!this.inCell) return;
    else if (name === 'v') this.reading = true;
    else if (name === 'is') this.inline.begin();
    else this.inline.open(name);
  }

  text(text: string): void {
    if (!this.inCell) return;
    if (this.reading) this.value += text;
    else this.inline.add(text);
  }

  close(name: string): void {
    if (name === 'c') this.endCell();
    else if (name === 'row') this.table.add(this.row, this.cells);
    else if (name === 'v') this.reading = false;
    else if (this.inCell) this.inline.close(name);
  }

  private startRow(attributes: XmlAttributes): void {
    const row = Number(attributeOf(attributes, 'r'));
    this.row = row > this.row ? row : this.row + 1;
    this.cells = [];
  }

  private startCell(attributes: XmlAttributes): void {
    const { cells } = this;
    const column = columnOf(attributeOf(attributes, 'r'));
    while (cells.length < column) cells.push('');
    this.type = attributeOf(attributes, 't') ?? 'n';
    this.style = Number(attributeOf(attributes, 's') ?? 0);
    this.value = '';
    this.inline.begin();
    this.inCell = true;
  }

  private endCell(): void {
    this.cells.push(storable(this.textOf()).trim());
    this.inCell = false;
  }

  private textOf(): string {
    const { type, value } = this;
    if (type === 's') return value === '' ? '' : (this.values.strings[Number(value)] ?? '');
    if (type === 'inlineStr') return this.inline.end();
    if (type === 'str') return unescaped(value);
    if (type === 'b') return value === '' ? '' : String(value === '1' || value === 'true');
    // An error of a formula is no value.
    if (type === 'e' || value.trim() === '') return '';
    if (type === 'd') return value.replace(/(?:\.\d+)?Z?$/, '').replace(/T00:00:00$/, '');
    return this.numberOf(Number(value));
  }

  private numberOf(value: number): string {
    if (Number.isNaN(value)) return this.value;
    const kind = this.values.kinds[this.style] ?? 'number';
    if (kind === 'duration') return durationOf(value);
    if (kind === 'date') return dateOf(value, this.values.epoch);
    return kind === 'percentage' ? `${digitsOf(value * 100)}%` : digitsOf(value);
  }
}

/** Excel computes and shows 15 digits. */
function digitsOf(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** From 0; of "B7" it is 1. 0 where there is no reference, or none that Excel has. */
function columnOf(reference: string | undefined): number {
  let column = 0;
  for (const letter of /^\$?([A-Za-z]{1,3})/.exec(reference ?? '')?.[1]?.toUpperCase() ?? '') {
    column = column * 26 + letter.charCodeAt(0) - 64;
  }
  return column > 0 && column <= COLUMN_LIMIT ? column - 1 : 0;
}

/** ISO 8601 without zone, which spreadsheets do not have; a number below 1 is a time of day. */
function dateOf(serial: number, epoch: number): string {
  // To whole seconds, of which a fraction of a day is never an exact number.
  const at = new Date(epoch + Math.round((serial * DAY_MS) / 1_000) * 1_000);
  if (Number.isNaN(at.getTime())) return String(serial);
  const [date = '', time = ''] = at.toISOString().slice(0, -5).split('T');
  if (serial >= 0 && serial < 1) return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}

/** Hours, minutes and seconds; 36:00:00 for a day and a half. */
function durationOf(serial: number): string {
  const seconds = Math.round(Math.abs(serial) * (DAY_MS / 1_000));
  const parts = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  );
  return `${serial < 0 ? '-' : ''}${parts.join(':')}`;
}

/** Characters that XML does not allow are written as _xHHHH_ (ECMA-376 part 1, 22.9.2.19). */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
}
