import { isSpace } from './page-glyphs.js';
import type { Run } from './page-glyphs.js';
import { inReadingOrder, isMostlyRightToLeft, isRightToLeft, lettersOf } from './right-to-left.js';
import type { Unit } from './right-to-left.js';

/** Text without a wide gap in it: a line of a column, or of a cell. */
export interface Segment {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly base: number;
  readonly size: number;
  /** Position in the order of drawing, and that of its last part. */
  readonly first: number;
  readonly last: number;
}

/** Segments on one base line, from left to right. */
export interface Line {
  readonly segments: readonly Segment[];
  readonly base: number;
  readonly size: number;
}

/** A wider gap than this, in shares of the font size, divides a line into segments. */
const SEGMENT_GAP = 0.9;

/** Minimum vertical overlap of two runs on one line, as a share of the smaller height. */
const SHARED_HEIGHT = 0.5;
/** And what two cells share whose lines stand at different heights, where they are not above each other. */
const SHARED_BY_CELLS = 0.2;

interface Placed extends Run {
  readonly order: number;
}

/** The segments of a page, in the order of its lines. */
export function segmentsOf(runs: readonly Run[]): Segment[] {
  const rightToLeft = isMostlyRightToLeft(runs.map(({ text }) => text));
  const placed = runs.map((run, order) => ({ ...run, order }));
  return grouped(placed).flatMap((line) =>
    divided(line).map((parts) => segmentOf(parts, rightToLeft)),
  );
}

/** Lines of segments, from the top. Within a column of text, what stands a little higher or lower is beside. */
export function linesOf(segments: readonly Segment[], withinColumn = false): Line[] {
  return grouped(segments, withinColumn).map((lineSegments) => {
    const size = maxOf(lineSegments.map((segment) => segment.size));
    const main = lineSegments.find((segment) => segment.size === size);
    return { segments: lineSegments, size, base: main?.base ?? 0 };
  });
}

/** Groups the items into lines, from the top, each from left to right. */
function grouped<T extends Pick<Run, 'left' | 'right' | 'base' | 'size'>>(
  items: readonly T[],
  withinColumn = false,
): T[][] {
  const sorted = items.toSorted((a, b) => b.base - a.base || a.left - b.left);
  const lines: { items: T[]; bottom: number; top: number }[] = [];
  for (const item of sorted) {
    const { bottom, top } = heightOf(item);
    // Only a few lines above can still reach so far down.
    const line = lines.slice(-3).find((candidate) => {
      const shared = Math.min(candidate.top, top) - Math.max(candidate.bottom, bottom);
      const height = Math.min(candidate.top - candidate.bottom, top - bottom);
      if (shared > height * SHARED_HEIGHT) return true;
      return withinColumn && shared > height * SHARED_BY_CELLS && isBeside(item, candidate.items);
    });
    if (line) line.items.push(item);
    else lines.push({ items: [item], bottom, top });
  }
  return lines.map(({ items: lineItems }) => lineItems.sort((a, b) => a.left - b.left));
}

function isBeside<T extends Pick<Run, 'left' | 'right'>>(item: T, others: readonly T[]): boolean {
  return others.every(({ left, right }) => left > item.right || right < item.left);
}

function heightOf({ base, size }: Pick<Run, 'base' | 'size'>) {
  return { bottom: base - size * 0.2, top: base + size * 0.7 };
}

/** Splits a line at wide gaps. Text drawn twice to look bold counts once. */
function divided(line: readonly Placed[]): Placed[][] {
  const parts: Placed[][] = [];
  let right = -Infinity;
  for (const run of line) {
    const last = parts.at(-1);
    const size = Math.max(run.size, last?.at(-1)?.size ?? 0);
    if (last?.some((other) => isDouble(other, run))) continue;
    if (last && run.left - right <= size * SEGMENT_GAP && sharesBase(last, run)) last.push(run);
    else parts.push([run]);
    right = last === parts.at(-1) ? Math.max(right, run.right) : run.right;
  }
  return parts;
}

function isDouble(one: Run, other: Run): boolean {
  const near = one.size * 0.15;
  return (
    one.text === other.text &&
    Math.abs(one.left - other.left) < near &&
    Math.abs(one.base - other.base) < near
  );
}

/** Superscript and subscript letters are smaller; a column may have a base line of its own. */
function sharesBase(parts: readonly Placed[], run: Placed): boolean {
  return parts.some(({ base, size }) => {
    const apart = Math.abs(base - run.base);
    return apart < 0.15 * size || Math.min(size, run.size) < 0.85 * Math.max(size, run.size);
  });
}

function segmentOf(parts: readonly Placed[], rightToLeft: boolean): Segment {
  const size = maxOf(parts.map((part) => part.size));
  const orders = parts.map(({ order }) => order);
  return {
    text: isRightToLeft(parts.map(({ text }) => text).join(''))
      ? inReadingOrder(spaced(parts), isWrittenLeft(parts, rightToLeft))
      : plainText(parts),
    left: minOf(parts.map(({ left }) => left)),
    right: maxOf(parts.map(({ right }) => right)),
    base: parts.find((part) => part.size === size)?.base ?? 0,
    size,
    first: minOf(orders),
    last: maxOf(orders),
  };
}

/** Direction of the page, unless most letters have the other one. */
function isWrittenLeft(parts: readonly Placed[], rightToLeft: boolean): boolean {
  const { right, left } = lettersOf(parts.map(({ text }) => text));
  return rightToLeft ? left <= right * 2 : right > left;
}

function plainText(parts: readonly Placed[]): string {
  let text = '';
  let before: Placed | undefined;
  for (const part of parts) {
    if (before && isSpace(before, part.text, part.left - before.right)) text += ' ';
    text += part.text;
    before = part;
  }
  return text.replace(COMPATIBILITY, (forms) => forms.normalize('NFKC')).normalize('NFC');
}

/** Latin ligatures, the micro sign, spaces of all widths. */
const COMPATIBILITY = /[\u00a0\u00b5\u2000-\u200a\u202f\u2126\ufb00-\ufb06]/g;

function spaced(parts: readonly Placed[]): Unit[] {
  const units: Unit[] = [];
  let right = -Infinity;
  for (const part of parts) {
    const gap = part.left - right;
    if (units.length > 0 && gap > part.size * 0.15) {
      units.push({ text: ' ', left: right, right: part.left });
    }
    units.push(part);
    right = Math.max(right, part.right);
  }
  return units;
}

/** The lower one of two in the middle; 0 of none. */
export function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** Minimum of any number of values; as arguments of Math.min they could be too many. */
export function minOf(numbers: readonly number[]): number {
  return numbers.reduce((least, number) => Math.min(least, number), Infinity);
}

export function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), -Infinity);
}
