import { linesOf, medianOf } from './page-lines.js';
import type { Line, Segment } from './page-lines.js';

/** Lines at the top and at the bottom of a page that may be repeated on others. */
const EDGE_LINES = 3;

/** In points: how far the same line may move from page to page. */
const MOVEMENT = 6;

/** A line this much further from the text than its lines from each other stands apart. */
const APART = 1.35;
/** In font sizes: no line of text is usually further from the one above. */
const LINE_PITCH = 1.4;

const PAGE_WORD =
  /\b(?:page|pages|pg|p|seite|s|pagina|página|página|pág|pag|strona|str|sida|side|sivu|sayfa|oldal|стр|страница)\b|[|/·•‐–—-]|第|页|頁|ページ|쪽|صفحة|עמוד/iu;

interface EdgeLine {
  readonly page: number;
  readonly line: Line;
  readonly top: boolean;
  /** Of its text, and of its text with a page number that is left open. */
  readonly keys: readonly string[];
  readonly apart: boolean;
}

/** A page with its lines of text, and what is no such line. */
interface EdgedPage {
  readonly segments: readonly Segment[];
  readonly tables: readonly unknown[];
}

/** What is left of the pages without their headers, footers and page numbers. */
export function withoutRunningLines(pages: readonly EdgedPage[]): Segment[][] {
  const edges = pages.map((page, index) => edgeLinesOf(page, index));
  const repeated = repeatedKeys(edges.flat(), pages.length);
  return pages.map(({ segments, tables }, page) => {
    const running = new Set<Segment>();
    let inner: EdgeLine | undefined;
    for (const edge of edges[page] ?? []) {
      // What stands outside of a header needs no gap of its own.
      const outside = inner !== undefined && inner.top === edge.top;
      if (!isRunning(edge, outside, repeated)) continue;
      for (const segment of edge.line.segments) running.add(segment);
      inner = edge;
    }
    const rest = segments.filter((segment) => !running.has(segment));
    // A page with nothing else has no header but text.
    return rest.length + tables.length > 0 ? rest : [...segments];
  });
}

function isRunning(
  edge: EdgeLine,
  outside: boolean,
  repeated: ReadonlyMap<string, readonly EdgeLine[]>,
): boolean {
  return edge.keys.some((key, index) => {
    const lines = repeated.get(key);
    if (!lines?.includes(edge)) return false;
    // A page number tells by itself; other text may be that of a form, or the head of a table.
    return index > 0 || outside || edge.apart;
  });
}

/** By key the lines that stand at the same place on enough pages. */
function repeatedKeys(
  edges: readonly EdgeLine[],
  pages: number,
): ReadonlyMap<string, readonly EdgeLine[]> {
  const byKey = new Map<string, EdgeLine[]>();
  for (const edge of edges) {
    for (const key of edge.keys) {
      const found = byKey.get(key);
      if (found) found.push(edge);
      else byKey.set(key, [edge]);
    }
  }
  const enough = Math.min(3, Math.max(2, Math.ceil(pages / 2)));
  for (const [key, found] of byKey) {
    const usual = medianOf(found.map(({ line }) => line.base));
    const near = found.filter(({ line }) => Math.abs(line.base - usual) <= MOVEMENT);
    if (new Set(near.map(({ page }) => page)).size >= enough) byKey.set(key, near);
    else byKey.delete(key);
  }
  return byKey;
}

function edgeLinesOf({ segments, tables }: EdgedPage, page: number): EdgeLine[] {
  const lines = linesOf(segments);
  const usual = Math.min(
    medianOf(gapsOf(lines)),
    medianOf(lines.map(({ size }) => size)) * LINE_PITCH,
  );
  const half = Math.max(Math.floor(lines.length / 2), Math.min(tables.length, 1));
  const count = Math.min(EDGE_LINES, half);
  const edges: EdgeLine[] = [];
  for (const top of [true, false]) {
    const inward = top ? lines : lines.toReversed();
    // From the text outwards.
    for (let rank = count - 1; rank >= 0; rank -= 1) {
      const line = inward[rank];
      const next = inward[rank + 1];
      if (!line) continue;
      const apart = next ? Math.abs(line.base - next.base) > usual * APART : tables.length > 0;
      const head = next !== undefined && isHeadOf(line, next);
      edges.push({ page, line, top, apart: apart && !head, keys: keysOf(line, page, top) });
    }
  }
  return edges;
}

function gapsOf(lines: readonly Line[]): number[] {
  return lines.slice(1).map((line, index) => (lines[index]?.base ?? 0) - line.base);
}

/** Whether a line and the next one stand in the same columns, as the head of a table and its first row. */
function isHeadOf(line: Line, next: Line): boolean {
  if (line.segments.length < 2 || next.segments.length < line.segments.length) return false;
  return line.segments.every(({ left, right }) =>
    next.segments.some((other) => other.left < right && other.right > left),
  );
}

function keysOf({ segments }: Line, page: number, top: boolean): string[] {
  const text = segments.map((segment) => segment.text).join(' ');
  const place = top ? 'top' : 'bottom';
  const keys = [`${place} ${text}`];
  for (const [number, value] of numbersOf(text)) {
    const alone = segments.some((segment) => segment.text === number);
    const rest = text.replace(number, ' ');
    if (alone || PAGE_WORD.test(rest) || !/[\p{L}\p{N}]/u.test(rest)) {
      keys.push(`${place} ${value - page} ${alone && segments.length > 1 ? '' : rest}`);
    }
  }
  return keys;
}

function numbersOf(text: string): (readonly [string, number])[] {
  if (/^[ivxlc]+$/i.test(text)) return [[text, romanValue(text.toLowerCase())]];
  return [...text.matchAll(/\p{Nd}{1,5}/gu)]
    .slice(0, 4)
    .map(([number]) => [number, Number(number.normalize('NFKC'))] as const)
    .filter(([, value]) => Number.isFinite(value));
}

const ROMAN: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50, c: 100 };

function romanValue(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = ROMAN[text[at] ?? ''] ?? 0;
    value += digit < (ROMAN[text[at + 1] ?? ''] ?? 0) ? -digit : digit;
  }
  return value;
}
