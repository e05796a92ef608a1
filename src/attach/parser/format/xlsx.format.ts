import readXlsxFile from 'read-excel-file/node';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { BlockWriter, TableWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';

interface Sheet {
  readonly sheet: string;
  /** Absent for a chart on a sheet of its own. */
  readonly data?: readonly (readonly unknown[])[];
}

/** Every sheet of a workbook as a table of its own; formulas as the values that were saved with them. */
export async function readXlsx(bytes: Buffer): Promise<SourceDocument> {
  const sheets: readonly Sheet[] = await readXlsxFile(bytes);
  const writer = new BlockWriter();
  for (const { sheet, data = [] } of sheets) {
    const table = new TableWriter(writer, storable(sheet));
    data.forEach((cells, index) => table.add(index + 1, cells.map(textOf)));
    table.end();
  }
  return { kind: 'table', ...writer.end() };
}

/** Of a string, a finite number, a boolean, a date, or nothing. */
function textOf(value: unknown): string {
  if (value instanceof Date) return dateOf(value);
  // Excel computes and shows 15 digits.
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? storable(value) : '';
}

/** ISO 8601 without zone, which spreadsheets do not have; a time of day is a date of the year zero of Excel. */
function dateOf(value: Date): string {
  if (Number.isNaN(value.getTime())) return '';
  const [date = '', time = ''] = value.toISOString().slice(0, 19).split('T');
  if (value.getTime() < FIRST_DAY) return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}

/** Serial number 1. */
const FIRST_DAY = Date.UTC(1899, 11, 31);
