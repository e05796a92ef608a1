import { withAlignedTables } from './aligned-tables.js';
import type { LineGroup } from './aligned-tables.js';
import type { Rule } from './page-glyphs.js';
import { minOf, linesOf, medianOf, maxOf } from './page-lines.js';
import type { Line, Segment } from './page-lines.js';
import { isMostlyRightToLeft, isRightToLeft, reverseRuns } from './right-to-left.js';
import type { Table } from './ruled-tables.js';

export type PageBlock = (
  | { readonly lines: readonly string[]; readonly rows?: undefined }
  | { readonly rows: readonly (readonly string[])[] }
) & {
  /** Header or footer, which does not interrupt the text around it. */
  readonly isRunning?: boolean;
};

/** A gap this much above the usual one of the column begins a paragraph, and so does another size of the letters. */
const PARAGRAPH_GAP = 1.3;
const OTHER_SIZE = 1.15;

/** A page of more pieces is a drawing or a map. */
const PIECE_LIMIT = 20_000;
/** Fewer lines say nothing about columns. */
const COLUMN_LINES = 4;
/** Regions in regions; three columns are two levels deep. */
const DEEPEST = 6;
/** Points in which the text below is counted. */
const BIN = 2;
const GUTTERS = 8;
/** Maximum share of the lines beside a gutter that may cross it, as those of a figure do. */
const CROSSING = 0.8;
/** Number of steps in which a range is searched for a cut. */
const PARTS = 4;

/** Minimum characters of a full line of running text. */
const PROSE_CHARACTERS = 18;
const FULL_LINE = 0.7;
/** Minimum number of running-text lines in a column. */
const PROSE_LINES = 4;
const PROSE_SHARE = 0.3;

interface Piece {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly segment?: Segment;
  readonly table?: Table;
}

export interface PageParts {
  readonly segments: readonly Segment[];
  readonly tables: readonly Table[];
  /** The horizontal ones. */
  readonly rules: readonly Rule[];
}

/** Paragraphs and tables of a page in the order in which they are read. */
export function blocksOf({ segments, tables, rules }: PageParts): PageBlock[] {
  const layout = new PageLayout(isMostlyRightToLeft(segments.map(({ text }) => text)), rules);
  const pieces: Piece[] = [
    ...segments.map((segment) => ({
      left: segment.left,
      right: segment.right,
      top: segment.base + segment.size * 0.7,
      bottom: segment.base - segment.size * 0.2,
      segment,
    })),
    ...tables.map((table) => ({ ...table, table })),
  ];
  return layout.blocks(pieces, 0);
}

class PageLayout {
  constructor(
    private readonly rightToLeft: boolean,
    private readonly rules: readonly Rule[],
  ) {}

  blocks(pieces: readonly Piece[], depth: number): PageBlock[] {
    if (pieces.length === 0) return [];
    const bands = depth < DEEPEST ? this.columns(pieces) : undefined;
    if (!bands) return this.column(pieces);
    return bands.flatMap((band) => {
      if (band.right === undefined) return this.blocks(band.left, depth + 1);
      const sides = this.rightToLeft ? [band.right, band.left] : [band.left, band.right];
      return sides.flatMap((side) => this.blocks(side, depth + 1));
    });
  }

  /** The bands of a region that has columns side by side, from the top. */
  private columns(pieces: readonly Piece[]): Band[] | undefined {
    for (const gutter of guttersOf(pieces)) {
      const bands = bandsOf(pieces, gutter);
      const sides = bands.map(({ left, right }) => right && areColumns(left, right));
      if (!sides.includes(true)) continue;
      // A band of a few lines is what most others are.
      return joined(bands.map((band, index) => (sides[index] === false ? merged(band) : band)));
    }
    return undefined;
  }

  private column(pieces: readonly Piece[]): PageBlock[] {
    const tables = pieces.flatMap(({ table }) => table ?? []).sort((a, b) => b.top - a.top);
    const lines = linesOf(
      pieces.flatMap(({ segment }) => segment ?? []),
      true,
    );
    const blocks: PageBlock[] = [];
    let start = 0;
    for (const table of tables) {
      const below = lines.findIndex(({ base }, index) => index >= start && base <= table.top);
      const end = below < 0 ? lines.length : below;
      blocks.push(...this.text(lines.slice(start, end)));
      blocks.push({ rows: table.rows.map((row) => this.ordered(row)) });
      start = end;
    }
    return [...blocks, ...this.text(lines.slice(start))];
  }

  private text(lines: readonly Line[]): PageBlock[] {
    if (lines.length === 0) return [];
    return withAlignedTables(lines, this.rules).flatMap((group) => this.group(group));
  }

  private group(group: LineGroup): PageBlock[] {
    if (group.rows) return [{ rows: group.rows.map((row) => this.ordered(row)) }];
    return paragraphsOf(group.lines).map((lines) => ({
      lines: lines.map((line) => this.textOf(line)),
    }));
  }

  /** Words of the other direction keep their order where wide spaces stand between them. */
  private textOf({ segments }: Line): string {
    const texts = segments.map(({ text }) => text);
    if (this.rightToLeft) {
      texts.reverse();
      reverseRuns(texts, (text) => !isRightToLeft(text) && /[\p{L}\p{N}]/u.test(text));
    }
    return texts.join(' ');
  }

  private ordered(cells: readonly string[]): readonly string[] {
    return this.rightToLeft ? cells.toReversed() : cells;
  }
}

/** Lines that follow each other as closely as most lines of their size, in letters of one size. */
function paragraphsOf(lines: readonly Line[]): Line[][] {
  const gaps = new Map<number, number[]>();
  const gapAbove = (index: number) =>
    (lines[index - 1]?.base ?? Infinity) - (lines[index]?.base ?? 0);
  lines.forEach((line, index) => {
    const gap = gapAbove(index);
    const size = Math.round(line.size * 2);
    if (gap > 0 && Number.isFinite(gap)) push(gaps, size, gap);
  });
  const usual = new Map([...gaps].map(([size, sizeGaps]) => [size, medianOf(sizeGaps)]));
  const paragraphs: Line[][] = [];
  lines.forEach((line, index) => {
    const ratio = line.size / (lines[index - 1]?.size ?? line.size);
    const other = ratio > OTHER_SIZE || ratio < 1 / OTHER_SIZE;
    const most = (usual.get(Math.round(line.size * 2)) ?? 0) * PARAGRAPH_GAP;
    if (gapAbove(index) > most || other) paragraphs.push([line]);
    else paragraphs.at(-1)?.push(line);
  });
  return paragraphs;
}

function push(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Area between two lines that span the gutter; it has no columns without a right side. */
interface Band {
  readonly left: readonly Piece[];
  readonly right?: readonly Piece[];
}

function merged({ left, right = [] }: Band): Band {
  return { left: [...left, ...right] };
}

/** Bands without columns that follow each other as one. */
function joined(bands: readonly Band[]): Band[] {
  const joinedBands: Band[] = [];
  for (const band of bands) {
    const last = joinedBands.at(-1);
    if (last && !last.right && !band.right) {
      joinedBands[joinedBands.length - 1] = { left: [...last.left, ...band.left] };
    } else joinedBands.push(band);
  }
  return joinedBands;
}

/** Candidate gutters, where the fewest pieces stand in the way of a vertical cut; best first. */
function guttersOf(pieces: readonly Piece[]): number[] {
  const left = minOf(pieces.map((piece) => piece.left));
  const right = maxOf(pieces.map((piece) => piece.right));
  const size = medianOf(pieces.flatMap(({ segment }) => segment?.size ?? []));
  const bins = Math.min(Math.ceil((right - left) / BIN), 4_000);
  if (pieces.length < COLUMN_LINES * 2 || pieces.length > PIECE_LIMIT || bins < 3) return [];
  const counts = Array.from({ length: bins }, () => 0);
  for (const piece of pieces) {
    const last = Math.min(bins - 1, Math.floor((piece.right - left) / BIN));
    for (let bin = Math.floor((piece.left - left) / BIN); bin <= last; bin += 1) {
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
  }
  const before = runningMax(counts);
  const after = runningMax(counts.toReversed()).reverse();
  const isFree = (bin: number) => {
    const beside = Math.min(before[bin] ?? 0, after[bin] ?? 0);
    return beside >= COLUMN_LINES && (counts[bin] ?? 0) <= beside * CROSSING;
  };
  const gutters: Gutter[] = [];
  for (let bin = 0; bin < bins; bin += 1) {
    if (!isFree(bin)) continue;
    let end = bin;
    while (end < bins && isFree(end)) end += 1;
    gutters.push(...lowestParts(counts, bin, end));
    bin = end;
  }
  return gutters
    .filter(({ width }) => width * BIN >= Math.max(size * 0.6, BIN))
    .sort((a, b) => a.count - b.count || b.width - a.width)
    .slice(0, GUTTERS)
    .map(({ middle }) => left + middle * BIN);
}

/** A gap between columns; units are bins. */
interface Gutter {
  readonly middle: number;
  readonly width: number;
  /** Pieces that stand across it. */
  readonly count: number;
}

/** The parts of a range with about its smallest count, then those of what is left on both sides. */
function lowestParts(
  counts: readonly number[],
  start: number,
  end: number,
  most = PARTS,
): Gutter[] {
  if (end <= start || most === 0) return [];
  const count = minOf(counts.slice(start, end));
  let best = { start, width: 0 };
  for (let bin = start; bin < end; bin += 1) {
    let last = bin;
    while (last < end && (counts[last] ?? 0) <= count + 1) last += 1;
    if (last - bin > best.width) best = { start: bin, width: last - bin };
    bin = last;
  }
  return [
    { middle: best.start + best.width / 2, width: best.width, count },
    ...lowestParts(counts, start, best.start, most - 1),
    ...lowestParts(counts, best.start + best.width, end, most - 1),
  ];
}

/** Running maximum of the numbers. */
function runningMax(counts: readonly number[]): number[] {
  let most = 0;
  return counts.map((count) => (most = Math.max(most, count)));
}

/** Pieces that span the gutter divide the rest into bands. */
function bandsOf(pieces: readonly Piece[], gutter: number): Band[] {
  const spans = pieces
    .filter(({ left, right }) => left < gutter - 1 && right > gutter + 1)
    .sort((a, b) => b.top - a.top);
  const spanning = new Set(spans);
  const full: Piece[][] = spans.map((span) => [span]);
  const bands: { left: Piece[]; right: Piece[] }[] = Array.from(
    { length: spans.length + 1 },
    () => ({ left: [], right: [] }),
  );
  for (const piece of pieces) {
    if (spanning.has(piece)) continue;
    const middle = (piece.top + piece.bottom) / 2;
    const beside = spans.findIndex(({ top, bottom }) => middle < top && middle > bottom);
    if (beside >= 0) {
      full[beside]?.push(piece);
      continue;
    }
    const above = spans.filter((span) => span.bottom > middle).length;
    const side = (piece.left + piece.right) / 2 < gutter ? 'left' : 'right';
    bands[above]?.[side].push(piece);
  }
  return joined(
    bands.flatMap(({ left, right }, index) => [
      ...(left.length + right.length === 0 ? [] : [bandOf(left, right)]),
      ...(full[index] ? [{ left: full[index] }] : []),
    ]),
  );
}

function bandOf(left: readonly Piece[], right: readonly Piece[]): Band {
  return left.length > 0 && right.length > 0 ? { left, right } : { left: [...left, ...right] };
}

/** Whether two sides are columns of text rather than of a table; undefined if the evidence is too weak. */
function areColumns(left: readonly Piece[], right: readonly Piece[]): boolean | undefined {
  const [ofLeft, ofRight] = [left, right].map((side) =>
    linesOf(side.flatMap(({ segment }) => segment ?? [])),
  );
  if (!ofLeft || !ofRight) return undefined;
  const beside = ofLeft.flatMap((line) => {
    const other = ofRight.find(({ base }) => Math.abs(base - line.base) < line.size * 0.2);
    return other ? [{ line, other }] : [];
  });
  const fewest = Math.min(ofLeft.length, ofRight.length);
  const rows = beside.filter(({ line, other }) => isDrawnAsRow(line, other)).length;
  const isRows = rows > beside.length * 0.5 && beside.length >= fewest * 0.6;
  if (fewest < COLUMN_LINES) return isRows ? false : undefined;
  const full = Math.min(proseLines(ofLeft), proseLines(ofRight));
  if (full >= PROSE_LINES && full >= fewest * PROSE_SHARE) {
    // The cells of a table are drawn row by row; some programs draw text line by line, across all columns.
    return changesOf(ofLeft, ofRight) < fewest * 0.3 || rows > fewest * 0.8;
  }
  if (isRows) return false;
  // Drawn one side after the other, with lines of their own or of several words.
  const isText = wordsOf(ofLeft) >= 4 && wordsOf(ofRight) >= 4;
  const isApart = rows <= beside.length * 0.2 && isDrawnApart(ofLeft, ofRight);
  return isApart && (beside.length < fewest * 0.7 || isText) ? true : undefined;
}

/** Whether the right one was drawn right after the left one. */
function isDrawnAsRow(left: Line, right: Line): boolean {
  const end = maxOf(left.segments.map(({ last }) => last));
  const start = minOf(right.segments.map(({ first }) => first));
  return start > end && start - end <= 2;
}

/** Number of times the drawing order changes sides. */
function changesOf(left: readonly Line[], right: readonly Line[]): number {
  const drawingOrder = [
    ...ordersOf(left).map((order) => ({ order, side: 0 })),
    ...ordersOf(right).map((order) => ({ order, side: 1 })),
  ].sort((a, b) => a.order - b.order);
  return drawingOrder.filter(
    ({ side }, index) => index > 0 && drawingOrder[index - 1]?.side !== side,
  ).length;
}

function isDrawnApart(left: readonly Line[], right: readonly Line[]): boolean {
  const first = ordersOf(left);
  const second = ordersOf(right);
  const [low, high] = medianOf(first) < medianOf(second) ? [first, second] : [second, first];
  const border = maxOf(low);
  return high.filter((order) => order < border).length <= high.length * 0.1;
}

function ordersOf(lines: readonly Line[]): number[] {
  return lines.flatMap(({ segments }) => segments.map(({ first }) => first));
}

function wordsOf(lines: readonly Line[]): number {
  return medianOf(
    lines.map(({ segments }) =>
      segments.reduce((sum, { text }) => sum + text.split(' ').length + unspacedWords(text), 0),
    ),
  );
}

/** Approximate number of words in Chinese and Japanese, which have no spaces. */
function unspacedWords(text: string): number {
  return (text.match(/[\u2e80-\u9fff]/g)?.length ?? 0) / 2;
}

/** Lines of one segment that fill the column, as most of a paragraph do. */
function proseLines(lines: readonly Line[]): number {
  const segments = lines
    .filter((line) => line.segments.length === 1)
    .flatMap((line) => line.segments);
  const width = maxOf(segments.map(({ right }) => right)) - minOf(segments.map(({ left }) => left));
  return segments.filter(
    ({ text, left, right }) =>
      right - left >= width * FULL_LINE &&
      text.length + unspacedWords(text) * 2 >= PROSE_CHARACTERS,
  ).length;
}
