import type { Rule } from './page-glyphs.js';
import { minOf, medianOf } from './page-lines.js';
import type { Line, Segment } from './page-lines.js';

/** Columns of text by where they stand, from left to right. */
interface Column {
  readonly left: number;
  readonly right: number;
}

/** Lines that stand in columns, as rows of cells; and other lines. */
export type LineGroup =
  | { readonly rows: readonly (readonly string[])[]; readonly lines: readonly Line[] }
  | { readonly rows?: undefined; readonly lines: readonly Line[] };

/** Maximum gap between the lines of a table in font sizes, and maximum number of consecutive lines with one cell. */
const ROW_GAP = 3.5;
const WRAPPED_LINES = 15;

/** Maximum number of lines of one range that are tried as the start of a table. */
const ATTEMPTS = 40;

/** Maximum share of the lines of a table that may span two columns. */
const SPANNING = 0.15;

/** Minimum share of the cells of a table that have text; labels of a drawing leave most places empty. */
const FILLED = 0.45;

/** Gaps between rows are larger than those within a row by this at least. */
const LARGER_GAP = 1.2;

/** Maximum number of lines of rows that are compared for similarity. */
const SHORT_ROW = 3;

const MARKER = /^(?:[•◦▪▫‣●○■□–—*·✓➢►-]|\(?(?:\p{Nd}{1,3}|[a-z]|[ivx]{1,5})[.)]|\[\d{1,3}\])$/iu;

/** Divides the lines of a column of text into tables and what stands around them. */
export function withAlignedTables(lines: readonly Line[], rules: readonly Rule[]): LineGroup[] {
  const groups: LineGroup[] = [];
  let plain: Line[] = [];
  let attempts = 0;
  let tried = 0;
  for (let start = 0; start < lines.length;) {
    const end = endOfColumns(lines, start);
    attempts = end === tried ? attempts + 1 : 0;
    tried = end;
    const below =
      end > start && attempts < ATTEMPTS ? tableOf(lines.slice(start, end), rules) : undefined;
    const first = below ? start - cellLinesAbove(plain, below) : start;
    const table = first < start ? (tableOf(lines.slice(first, end), rules) ?? below) : below;
    if (table) {
      plain = plain.slice(0, plain.length - (start - first));
      if (plain.length > 0) groups.push({ lines: plain });
      plain = [];
      groups.push(table);
      start = Math.max(first + table.lines.length, start + 1);
    } else {
      const line = lines[start];
      if (line) plain.push(line);
      start += 1;
    }
  }
  if (plain.length > 0) groups.push({ lines: plain });
  return groups;
}

/** Index behind the last line that may belong to a table starting here. */
function endOfColumns(lines: readonly Line[], start: number): number {
  if ((lines[start]?.segments.length ?? 0) < 2) return start;
  let end = start + 1;
  for (let next = end; next < lines.length; next += 1) {
    const [before, line] = [lines[next - 1], lines[next]];
    if (!before || !line || before.base - line.base > ROW_GAP * Math.max(before.size, line.size)) {
      break;
    }
    if (line.segments.length > 1) end = next + 1;
    else if (next - end >= WRAPPED_LINES) break;
  }
  // The lines behind the last row may be those of its cells.
  for (let next = end; next < Math.min(lines.length, end + WRAPPED_LINES); next += 1) {
    const [before, line] = [lines[next - 1], lines[next]];
    if (!before || !line || before.base - line.base > 1.5 * before.size) break;
    end = next + 1;
  }
  return end;
}

/** The lines above a table that belong to a cell of its first row, whose other cells stand lower. */
function cellLinesAbove(lines: readonly Line[], { lines: below }: LineGroup): number {
  const columns = columnsOf(below.filter(({ segments }) => segments.length > 1));
  let next = below[0];
  let count = 0;
  for (const line of lines.toReversed()) {
    const [segment] = line.segments;
    if (!next || !segment || line.segments.length > 1) break;
    const column = columns[columnOf(segment, columns)];
    const isInner = column !== undefined && column !== columns[0] && isCellOf(line, columns);
    if (!isInner || Math.abs(segment.left - column.left) > line.size / 2) break;
    if (gapBetween(line, next) > 1.5 * line.size) break;
    next = line;
    count += 1;
  }
  return count;
}

function tableOf(lines: readonly Line[], rules: readonly Rule[]): LineGroup | undefined {
  const columns = columnsOf(lines.filter(({ segments }) => segments.length > 1));
  if (columns.length < 2) return undefined;
  const tableLines: Line[] = [];
  for (const line of lines) {
    if (line.segments.length === 1 && !isCellOf(line, columns)) break;
    tableLines.push(line);
  }
  if (tableLines.length < lines.length) {
    // The columns may differ without the lines below.
    return tableLines.length > 1 && tableLines.length < lines.length
      ? tableOf(tableLines, rules)
      : undefined;
  }
  if (!isTable(tableLines, columns)) return undefined;
  const rows = rowsOf(tableLines, columns, rules).map((row) =>
    columns.map((_, index) => cellOf(row, columns, index)),
  );
  const cells = rows.flat();
  const filled = cells.filter((cell) => cell !== '').length;
  return filled >= cells.length * FILLED ? { rows, lines: tableLines } : undefined;
}

/** The ranges in which the lines have text, apart from a few that span a gap. */
function columnsOf(lines: readonly Line[]): Column[] {
  const tolerance = Math.floor(lines.length * SPANNING);
  const edges = lines
    .flatMap(({ segments }) => segments)
    .flatMap(({ left, right }) => [
      { at: left, step: 1 },
      { at: Math.max(right - 0.5, left), step: -1 },
    ])
    .sort((a, b) => a.at - b.at || b.step - a.step);
  const columns: Column[] = [];
  let depth = 0;
  let left: number | undefined;
  for (const { at, step } of edges) {
    depth += step;
    if (depth > tolerance) left ??= at;
    else if (left !== undefined) {
      columns.push({ left, right: at });
      left = undefined;
    }
  }
  return columns;
}

function isCellOf({ segments }: Line, columns: readonly Column[]): boolean {
  return segments.every(
    (segment) => columns.filter((column) => overlaps(segment, column)).length < 2,
  );
}

function overlaps(segment: Segment, column: Column): boolean {
  const shared = Math.min(segment.right, column.right) - Math.max(segment.left, column.left);
  return shared > Math.min(segment.size, (column.right - column.left) / 2);
}

function isTable(lines: readonly Line[], columns: readonly Column[]): boolean {
  const wide = lines.filter(({ segments }) => segments.length > 1);
  if (wide.length < (columns.length > 2 ? 2 : 3)) return false;
  // Text with wide spaces has them at other places in every line.
  const clean = wide.filter(({ segments }) => {
    const used = segments.map((segment) => columnOf(segment, columns));
    return new Set(used).size === used.length;
  });
  if (clean.length < wide.length * 0.7) return false;
  const first = lines.flatMap(({ segments }) =>
    segments.filter((segment) => columnOf(segment, columns) === 0),
  );
  const isList = columns.length === 2 && first.every(({ text }) => MARKER.test(text));
  return !isList;
}

/** The first column that the segment stands in, else the nearest. */
function columnOf(segment: Segment, columns: readonly Column[]): number {
  const inside = columns.findIndex((column) => overlaps(segment, column));
  if (inside >= 0) return inside;
  const apart = columns.map(({ left, right }) =>
    Math.max(left - segment.right, segment.left - right),
  );
  return apart.indexOf(Math.min(...apart));
}

/** Lines of one row each: by drawn lines between them, by larger gaps, else by the cells that go on. */
function rowsOf(
  lines: readonly Line[],
  columns: readonly Column[],
  rules: readonly Rule[],
): Line[][] {
  const ys = rules.filter((rule) => spans(rule, columns)).map(({ at }) => at);
  const ruled = divided(lines, (above, line) => ys.some((y) => y < above.base && y > line.base));
  if (ruled.length > 2 && (haveKeys(ruled, columns) || areShort(ruled))) return ruled;
  const limit = limitOf(lines);
  const apart = divided(lines, (above, line) => gapBetween(above, line) > limit);
  if (apart.length > 2 && haveKeys(apart, columns)) return apart;
  const rows: Line[][] = [];
  for (const line of lines) {
    const row = rows.at(-1);
    if (row && isContinuation(line, row, columns)) row.push(line);
    else rows.push([line]);
  }
  return rows;
}

function spans({ from, to }: Rule, columns: readonly Column[]): boolean {
  const left = columns[0]?.left ?? 0;
  const right = columns.at(-1)?.right ?? 0;
  return Math.min(to, right) - Math.max(from, left) > (right - left) * 0.7;
}

function divided(lines: readonly Line[], isApart: (above: Line, line: Line) => boolean): Line[][] {
  const rows: Line[][] = [];
  lines.forEach((line, index) => {
    const above = lines[index - 1];
    const row = rows.at(-1);
    if (row && above && !isApart(above, line)) row.push(line);
    else rows.push([line]);
  });
  return rows;
}

/** Whether some column has a line in nearly every row, like one that names the row. */
function haveKeys(rows: readonly (readonly Line[])[], columns: readonly Column[]): boolean {
  return columns.some((_, index) => {
    const single = rows.filter((row) => linesIn(row, columns, index) === 1);
    return single.length >= rows.length * 0.8;
  });
}

function linesIn(row: readonly Line[], columns: readonly Column[], index: number): number {
  return row.filter(({ segments }) =>
    segments.some((segment) => columnOf(segment, columns) === index),
  ).length;
}

function areShort(rows: readonly (readonly Line[])[]): boolean {
  const short = rows.filter((row) => row.length <= SHORT_ROW);
  return rows.length > SHORT_ROW && short.length >= rows.length * 0.8;
}

/** Gap between cells above each other; cells beside them may be higher or lower. */
function gapBetween(above: Line, line: Line): number {
  const gaps = above.segments.flatMap((segment) =>
    line.segments
      .filter(({ left, right }) => left < segment.right && right > segment.left)
      .map(({ base }) => segment.base - base),
  );
  return gaps.length > 0 ? minOf(gaps) : above.base - line.base;
}

/** Limit between the gaps within a row and the larger ones between rows: the place where their sizes differ most. */
function limitOf(lines: readonly Line[]): number {
  const gaps = lines
    .slice(1)
    .map((line, index) => gapBetween(lines[index] ?? line, line))
    .sort((a, b) => a - b);
  let limit = 0;
  let most = LARGER_GAP;
  // Letters of two cells may stand on lines close to each other: that is no gap between lines.
  const size = medianOf(lines.map((line) => line.size));
  gaps.forEach((gap, index) => {
    const below = Math.max(gaps[index - 1] ?? gap, size);
    if (gap / below <= most) return;
    most = gap / below;
    limit = (gap + below) / 2;
  });
  return limit;
}

/** Whether a line only continues the cells above it. */
function isContinuation(line: Line, row: readonly Line[], columns: readonly Column[]): boolean {
  const above = row.at(-1);
  if (!above || above.base - line.base > 1.6 * line.size) return false;
  const filled = new Set(row.flatMap(({ segments }) => segments.map((s) => columnOf(s, columns))));
  if (line.segments.length >= filled.size) return false;
  return line.segments.every((segment) => {
    const index = columnOf(segment, columns);
    const cell = above.segments.find((other) => columnOf(other, columns) === index);
    if (!cell || NUMBER.test(segment.text)) return false;
    const width = cell.right - cell.left;
    const [word = ''] = segment.text.split(' ');
    const needed = (word.length + 1) * (width / Math.max(cell.text.length, 1));
    const next = columns[index + 1];
    const availableWidth = next
      ? next.left - (columns[index]?.left ?? 0) - line.size
      : widthOf(columns[index]);
    return width + needed > availableWidth * 0.95;
  });
}

const NUMBER = /^[-+(]?\p{Sc}?[\p{Nd}.,'\u00a0 ]+[%)]?$/u;

function widthOf(column: Column | undefined): number {
  return column ? column.right - column.left : 0;
}

function cellOf(row: readonly Line[], columns: readonly Column[], index: number): string {
  return row
    .map(({ segments }) =>
      segments
        .filter((segment) => columnOf(segment, columns) === index)
        .map(({ text }) => text)
        .join(' '),
    )
    .filter((text) => text !== '')
    .join('\n');
}
