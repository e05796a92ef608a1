import { read, set_cptable } from '@e965/xlsx';
import type { CellObject, WorkBook, WorkSheet } from '@e965/xlsx';
import * as codePages from '@e965/xlsx/dist/cpexcel.full.mjs';
import type { SourceDocument } from '../../../../fragment/splitter/index.js';
import { passwordProtected } from '../document-package.js';
import { damaged } from '../document-source.js';
import { BlockWriter, TableWriter } from '../table-writer.js';
import { storable } from '../text/text-encoding.js';
import { EPOCH_1900, EPOCH_1904, shownNumber, shownText } from './cell-format.js';
import { MAX_MERGED_RANGES, MergedCells } from './merged-cells.js';

/** Old workbooks hold texts of the code page of their author. */
set_cptable(codePages);

/**
 * Every sheet of an old or binary workbook (.xls of Excel 5 to 2003, .xlsb) as a table of its own, as those of .xlsx are
 * read. The library holds the whole workbook in memory.
 */
export function readWorkbook(bytes: Buffer): SourceDocument {
  const workbook = opened(bytes);
  const epoch = workbook.Workbook?.WBProps?.date1904 ? EPOCH_1904 : EPOCH_1900;
  const writer = new BlockWriter();
  for (const name of workbook.SheetNames) {
    const sheet = workbook.Sheets[name];
    if (!sheet) continue;
    const table = new TableWriter(writer, storable(name), workbook.SheetNames.length > 1);
    const merged = new MergedCells(mergedRanges(sheet));
    // The option `dense` stores cells in rows.
    const rows = (sheet as { '!data'?: readonly (readonly CellObject[] | undefined)[] })['!data'];
    for (const [index, row] of (rows ?? []).entries()) {
      if (!row) continue;
      const cells = Array.from(row, (cell: CellObject | undefined) => textOf(cell, epoch));
      merged.fill(index + 1, cells);
      table.add(index + 1, cells);
    }
    table.end();
  }
  return { kind: 'table', ...writer.end() };
}

function opened(bytes: Buffer): WorkBook {
  try {
    return read(bytes, {
      type: 'buffer',
      dense: true,
      cellNF: true,
      cellText: false,
      cellHTML: false,
      cellFormula: false,
    });
  } catch (error) {
    if (error instanceof Error && /password|encrypt/i.test(error.message)) {
      throw passwordProtected();
    }
    throw damaged(error);
  }
}

function mergedRanges(sheet: WorkSheet) {
  return (sheet['!merges'] ?? [])
    .slice(0, MAX_MERGED_RANGES)
    .map(({ s, e }) => ({ firstRow: s.r + 1, lastRow: e.r + 1, column: s.c }));
}

function textOf(cell: CellObject | undefined, epoch: number): string {
  if (cell?.v === undefined) return '';
  const code = typeof cell.z === 'string' ? cell.z : '';
  switch (cell.t) {
    case 'n':
      return shownNumber(Number(cell.v), code, epoch);
    case 's':
      return storable(shownText(String(cell.v), code)).trim();
    case 'b':
      return String(cell.v);
    default:
      // Errors of formulas and empty cells.
      return '';
  }
}
