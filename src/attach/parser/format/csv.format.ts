import { CsvError, parse } from 'csv-parse/sync';
import type { Options } from 'csv-parse/sync';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { BlockWriter, TableWriter } from './table-writer.js';

const DELIMITERS = [',', ';', '\t', '|'];

/** Characters from the start that are tried with each delimiter. */
const SAMPLE_LENGTH = 16_384;

/** Tolerant: rows may differ in length, and a quote within a value is a character. */
const options = {
  relax_column_count: true,
  relax_quotes: true,
  bom: false,
  record_delimiter: '\n',
} satisfies Options;

/** Comma-separated values (RFC 4180) and what goes by that name; every record is a row of the table, empty ones too. */
export function readCsv(text: string): SourceDocument {
  // A first line `sep=;` names the delimiter to Excel.
  const [separatorLine, delimiter] = /^sep=(.)\n/.exec(text) ?? ['', undefined];
  const source = eachRow(text.slice(separatorLine.length), delimiter ?? delimiterOf(text), () => {
    const writer = new BlockWriter();
    const table = new TableWriter(writer);
    let row = separatorLine === '' ? 0 : 1;
    return {
      add: (cells) => {
        row += 1;
        table.add(row, cells);
      },
      end: () => {
        table.end();
        return writer.end();
      },
    };
  });
  return { kind: 'table', ...source };
}

/** Share of the rows that have the same number of columns in a text that is taken for a table without such a name. */
const TABLE_SHARE = 0.9;

/** Whether a text is a table by its content alone: nearly all its lines have the same number of columns. */
export function readsAsTable(text: string): boolean {
  if (text.trim().split('\n', 3).length < 3) return false;
  return (ratedDelimiters(text)[0]?.rating ?? 0) >= TABLE_SHARE;
}

/** The delimiter with which most rows have the same number of columns, and more than one. */
function delimiterOf(text: string): string {
  return ratedDelimiters(text)[0]?.delimiter ?? ',';
}

/** The best one first. */
function ratedDelimiters(
  text: string,
): readonly { readonly delimiter: string; readonly rating: number }[] {
  const sample = text.slice(0, SAMPLE_LENGTH);
  const cut = sample.length < text.length ? sample.lastIndexOf('\n') + 1 : 0;
  const whole = cut > 0 ? sample.slice(0, cut) : sample;
  const rated = DELIMITERS.map((delimiter) => ({ delimiter, rating: ratingOf(whole, delimiter) }));
  return rated.sort((a, b) => b.rating - a.rating);
}

function ratingOf(sample: string, delimiter: string): number {
  return eachRow(sample, delimiter, () => {
    const widths = new Map<number, number>();
    let rows = 0;
    return {
      add: ({ length }) => {
        rows += 1;
        widths.set(length, (widths.get(length) ?? 0) + 1);
      },
      end: () => {
        const [width = 1, agreeing = 0] = [...widths].sort((a, b) => b[1] - a[1])[0] ?? [];
        // Among equals the delimiter with more columns wins.
        return width > 1 ? agreeing / rows + width / 10_000 : 0;
      },
    };
  });
}

interface RowReader<Result> {
  readonly add: (cells: readonly string[]) => void;
  readonly end: () => Result;
}

/** Starts again without quotes when one is never closed: then a quote is a character like any other. */
function eachRow<Result>(text: string, delimiter: string, begin: () => RowReader<Result>): Result {
  try {
    return readRows(text, { delimiter }, begin());
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return readRows(text, { delimiter, quote: null }, begin());
  }
}

function readRows<Result>(text: string, dialect: Options, reader: RowReader<Result>): Result {
  parse(text, {
    ...options,
    ...dialect,
    // Answering nothing keeps the parser from collecting the rows.
    on_record: (cells: string[]) => {
      reader.add(cells);
      return null;
    },
  });
  return reader.end();
}
