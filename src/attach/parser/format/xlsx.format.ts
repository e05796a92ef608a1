import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import {
  builtInFormat,
  EPOCH_1900,
  EPOCH_1904,
  shownNumber,
  shownText,
} from './spreadsheet/cell-format.js';
import {
  columnOf,
  MAX_MERGED_RANGES,
  MergedCells,
  mergedRangeOf,
} from './spreadsheet/merged-cells.js';
import type { MergedRange } from './spreadsheet/merged-cells.js';
import { BlockWriter, TableWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { attributeOf, isOn, relationshipIn } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

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
    strings: strings.texts,
    formats: styles.formats,
    epoch: workbook.from1904 ? EPOCH_1904 : EPOCH_1900,
  };
  const writer = new BlockWriter();
  for (const { name, id } of workbook.sheets) {
    const link = links.find((candidate) => candidate.id === id);
    // The others are charts and dialogs.
    if (link?.type !== 'worksheet') continue;
    const table = new TableWriter(writer, storable(name), workbook.sheets.length > 1);
    const merged = new MergedCells(await mergedRanges(document, link.target));
    await document.readXml(link.target, new SheetReader(table, merged, values));
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
  readonly texts: string[] = [];
  private readonly string = new StringItem();

  open(name: string): void {
    if (name === 'si') this.string.begin();
    else this.string.open(name);
  }

  text(text: string): void {
    this.string.add(text);
  }

  close(name: string): void {
    if (name === 'si') this.texts.push(this.string.end());
    else this.string.close(name);
  }
}

/** The text of a string that may consist of runs; without its pronunciation. */
class StringItem {
  private content = '';
  private reading = false;
  private phonetic = false;

  begin(): void {
    this.content = '';
  }

  open(name: string): void {
    if (name === 't') this.reading = !this.phonetic;
    else if (name === 'rPh') this.phonetic = true;
  }

  add(text: string): void {
    if (this.reading) this.content += text;
  }

  close(name: string): void {
    if (name === 't') this.reading = false;
    else if (name === 'rPh') this.phonetic = false;
  }

  end(): string {
    return unescaped(this.content);
  }
}

/** The format of the numbers in cells of each style. */
class StyleReader implements XmlHandler {
  readonly formats: string[] = [];
  private readonly custom = new Map<number, string>();
  private inCells = false;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'numFmt') {
      const id = Number(attributeOf(attributes, 'numFmtId'));
      this.custom.set(id, attributeOf(attributes, 'formatCode') ?? '');
    } else if (name === 'cellXfs') this.inCells = true;
    else if (name === 'xf' && this.inCells) {
      const id = Number(attributeOf(attributes, 'numFmtId') ?? 0);
      this.formats.push(this.custom.get(id) ?? builtInFormat(id));
    }
  }

  close(name: string): void {
    if (name === 'cellXfs') this.inCells = false;
  }
}

const MERGED = /<(?:\w+:)?mergeCell\s[^>]*?\bref="([^"]+)"/g;

/** Characters of a sheet that are looked at together: an element may begin in one piece and end in the next. */
const OVERLAP_CHARS = 200;

/** The list of merged cells stands behind the cells, so that the sheet is looked through before it is read. */
async function mergedRanges(document: DocumentPackage, part: string): Promise<MergedRange[]> {
  const ranges = new Map<string, MergedRange>();
  let rest = '';
  for await (const text of document.textOf(part)) {
    const piece = rest + text;
    for (const [, reference = ''] of piece.includes('mergeCell') ? piece.matchAll(MERGED) : []) {
      const range = mergedRangeOf(reference);
      if (range) ranges.set(reference, range);
    }
    if (ranges.size > MAX_MERGED_RANGES) break;
    rest = piece.slice(-OVERLAP_CHARS);
  }
  return [...ranges.values()];
}

interface CellValues {
  readonly strings: readonly string[];
  readonly formats: readonly string[];
  /** Time of serial number 0, in milliseconds. */
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
    private readonly merged: MergedCells,
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
    else if (name === 'row') this.endRow();
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

  private endRow(): void {
    this.merged.fill(this.row, this.cells);
    this.table.add(this.row, this.cells);
  }

  private endCell(): void {
    this.cells.push(storable(this.textOf()).trim());
    this.inCell = false;
  }

  private textOf(): string {
    const { type, value } = this;
    const code = this.values.formats[this.style] ?? '';
    if (type === 's') {
      return value === '' ? '' : shownText(this.values.strings[Number(value)] ?? '', code);
    }
    if (type === 'inlineStr') return shownText(this.inline.end(), code);
    if (type === 'str') return shownText(unescaped(value), code);
    if (type === 'b') return value === '' ? '' : String(value === '1' || value === 'true');
    // An error of a formula is no value.
    if (type === 'e' || value.trim() === '') return '';
    if (type === 'd') return value.replace(/(?:\.\d+)?Z?$/, '').replace(/T00:00:00$/, '');
    const number = Number(value);
    return Number.isNaN(number) ? value : shownNumber(number, code, this.values.epoch);
  }
}

/** Characters that XML does not allow are written as _xHHHH_ (ECMA-376 part 1, 22.9.2.19). */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
}
