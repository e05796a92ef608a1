import type { SheetBox } from './page-glyphs.js';
import { linesOf, medianOf } from './page-lines.js';
import type { Line, Segment } from './page-lines.js';
import { pageNumbersOf, readsAsLabel } from './page-numbers.js';

/** Pages on which a line stands at the same place before it counts as a running one. */
const MIN_PAGES = 3;

/** Share of the page's height, from the top and from the bottom, in which running lines stand. */
const EDGE = 1 / 6;
const MAX_EDGE_LINES = 12;

/** Maximum distance in points that a running line may move from page to page. */
const MOVEMENT = 6;

/** A line this much further from the next one than the lines of the page from each other is part of no paragraph. */
const APART = 1.3;
/** Line pitch in font sizes: closer lines are in one paragraph, lines beyond the larger limit are not. */
const MIN_PITCH = 1.2;
const MAX_PITCH = 2.4;

/** Share of the page's width: what stands further apart on one line was not written as one. */
const BESIDE = 0.2;

/** Content of a page in one reading direction. */
export interface EdgedSheet {
  /** Page number, from 0. */
  readonly page: number;
  /** The direction: quarters of a turn. */
  readonly quarter: number;
  /** Box of the sheet; absent for slanted text, which has no edges. */
  readonly box?: SheetBox;
  readonly segments: readonly Segment[];
  readonly tables: readonly { readonly top: number; readonly bottom: number }[];
}

/** Content of a sheet without its running lines, and the running lines that no sheet before it has. */
export interface SheetText {
  readonly headers: readonly Segment[];
  readonly body: readonly Segment[];
  readonly footers: readonly Segment[];
}

/** Text that stands at the same place of several pages; of a page number, what counts with the pages. */
interface Group {
  readonly text: string;
  readonly isNumber: boolean;
  isRunning: boolean;
}

interface EdgeSegment {
  readonly segment: Segment;
  readonly groups: Group[];
}

interface EdgeLine {
  readonly sheet: EdgedSheet;
  readonly top: boolean;
  /** Width of the page. */
  readonly width: number;
  /** Distance from the edge. */
  readonly distance: number;
  readonly segments: readonly EdgeSegment[];
  /** Groups of the whole line's text. */
  readonly groups: Group[];
  /** Whether the line is not part of a paragraph. */
  readonly apart: boolean;
}

/**
 * Takes the headers, footers and page numbers out of the pages, and keeps each once, at its first place. They stand at the
 * edge of at least three pages that have other text, at the same height, and are part of no paragraph: a gap divides them
 * from it. A line that differs from page to page by more than the page number stays, and all that stands further inside than one.
 */
export function withoutRunningLines(sheets: readonly EdgedSheet[]): SheetText[] {
  const edges = sheets.map((sheet) => [...edgeLinesOf(sheet, true), ...edgeLinesOf(sheet, false)]);
  const groups = groupsOf(edges.flat());
  let running = edges.map((lines) => runningLinesOf(lines));
  while (dropRareGroups(groups, sheets, running)) {
    running = edges.map((lines) => runningLinesOf(lines));
  }
  const texts = new Set<string>();
  return sheets.map(({ segments }, index) => {
    const lines = running[index] ?? [];
    const first = lines.filter(({ text }) => !texts.has(text));
    for (const { text } of first) texts.add(text);
    const edgeSegments = (atTop: boolean) =>
      first.filter(({ line }) => line.top === atTop).flatMap(({ line }) => segmentsIn(line));
    const runningSegments = new Set(lines.flatMap(({ line }) => segmentsIn(line)));
    return {
      headers: edgeSegments(true),
      body: segments.filter((segment) => !runningSegments.has(segment)),
      footers: edgeSegments(false),
    };
  });
}

function segmentsIn({ segments }: EdgeLine): Segment[] {
  return segments.map(({ segment }) => segment);
}

/** Lines near an edge of the page, from there inwards. */
function edgeLinesOf(sheet: EdgedSheet, top: boolean): EdgeLine[] {
  const { box, segments, tables } = sheet;
  if (!box) return [];
  const edge = top ? box.top : box.bottom;
  const depth = (box.top - box.bottom) * EDGE;
  const all = linesOf(segments);
  const gaps = gapsOf(all);
  const lines = top ? all : all.toReversed();
  const edgeLines: EdgeLine[] = [];
  for (const [index, line] of lines.slice(0, MAX_EDGE_LINES).entries()) {
    const distance = Math.abs(edge - line.base);
    const next = lines[index + 1];
    const table = tables.find((other) => isBetween(other, line, next));
    if (distance > depth) break;
    edgeLines.push({
      sheet,
      top,
      width: box.right - box.left,
      distance,
      segments: line.segments.map((segment) => ({ segment, groups: [] })),
      groups: [],
      apart: table
        ? distanceOf(line, table) > MIN_PITCH * line.size
        : !next || isApart(line, next, gaps),
    });
    // Lines within or behind a table are not at the edge.
    if (table) break;
  }
  return edgeLines;
}

function isBetween(
  table: EdgedSheet['tables'][number],
  line: Line,
  next: Line | undefined,
): boolean {
  const middle = (table.top + table.bottom) / 2;
  if (!next) return true;
  return Math.min(line.base, next.base) < middle && middle < Math.max(line.base, next.base);
}

function distanceOf(line: Line, { top, bottom }: EdgedSheet['tables'][number]): number {
  return Math.max(line.base - line.size * 0.2 - top, bottom - line.base - line.size * 0.7);
}

/** Distances of the lines from the next ones, ascending. */
function gapsOf(lines: readonly Line[]): number[] {
  return lines
    .slice(1)
    .map((line, index) => (lines[index]?.base ?? 0) - line.base)
    .sort((a, b) => a - b);
}

function isApart(line: Line, next: Line, gaps: readonly number[]): boolean {
  const gap = Math.abs(line.base - next.base);
  const size = Math.max(line.size, next.size);
  if (gap <= MAX_PITCH * size && isHeadOf(line, next)) return false;
  const ownIndex = gaps.indexOf(gap);
  const usual = medianOf(ownIndex < 0 ? gaps : gaps.toSpliced(ownIndex, 1));
  return gap > APART * Math.min(Math.max(usual, MIN_PITCH * size), MAX_PITCH * size);
}

/** Whether a line and the next one share columns, as the head of a table and its first row do. */
function isHeadOf(line: Line, next: Line): boolean {
  if (line.segments.length < 2 || next.segments.length < line.segments.length) return false;
  return line.segments.every(({ left, right }) =>
    next.segments.some((other) => other.left < right && other.right > left),
  );
}

/** Enters each segment into the groups of what stands at the same place of enough pages. */
function groupsOf(lines: readonly EdgeLine[]): Group[] {
  const places = new Map<string, { text: string; isNumber: boolean; members: Member[] }>();
  for (const line of lines) {
    const place = `${line.sheet.quarter} ${String(line.top)}`;
    const parts = line.segments.map(({ segment, groups }) => ({ text: segment.text, groups }));
    const whole = { text: parts.map(({ text }) => text).join(' '), groups: line.groups };
    for (const { text: written, groups } of parts.length > 1 ? [...parts, whole] : parts) {
      for (const [text, isNumber] of textsOf(written, line.sheet.page)) {
        const key = `${place} ${text}`;
        const candidate = places.get(key) ?? { text, isNumber, members: [] };
        candidate.members.push({ groups, line });
        places.set(key, candidate);
      }
    }
  }
  const acceptedGroups: Group[] = [];
  for (const { text, isNumber, members } of places.values()) {
    for (const near of atOnePlace(members)) {
      if (new Set(near.map(({ line }) => line.sheet.page)).size < MIN_PAGES) continue;
      const group = { text, isNumber, isRunning: true };
      acceptedGroups.push(group);
      for (const { groups } of near) groups.push(group);
    }
  }
  return acceptedGroups;
}

interface Member {
  /** Groups of a segment or of a line. */
  readonly groups: Group[];
  readonly line: EdgeLine;
}

/** The text, and its rest without a page number together with the number that the first page would have. */
function textsOf(text: string, page: number): (readonly [string, boolean])[] {
  const numbers = pageNumbersOf(text);
  return [
    [`= ${text}`, false],
    ...numbers.map(({ rest, value }) => [`# ${value - page} ${rest}`, true] as const),
  ];
}

function atOnePlace(members: readonly Member[]): Member[][] {
  const sorted = members.toSorted((a, b) => a.line.distance - b.line.distance);
  const places: Member[][] = [];
  for (const member of sorted) {
    const last = places.at(-1);
    const start = last?.[0]?.line.distance ?? -Infinity;
    if (last && member.line.distance - start <= MOVEMENT) last.push(member);
    else places.push([member]);
  }
  return places;
}

interface RunningLine {
  readonly line: EdgeLine;
  readonly groups: readonly Group[];
  /** Text by which the line is kept once, wherever it stands. */
  readonly text: string;
}

/** The running lines of a sheet, from the top. */
function runningLinesOf(lines: readonly EdgeLine[]): RunningLine[] {
  return [true, false].flatMap((atTop) => {
    const outer: RunningLine[] = [];
    for (const line of lines.filter(({ top }) => top === atTop)) {
      const groups = runningGroups(line);
      // Text that differs from page to page may be the beginning of the body.
      if (!groups) break;
      outer.push({ line, groups, text: groups.map(({ text }) => text).join(' ') });
    }
    const separate = outer.slice(0, outer.findLastIndex(({ line }) => line.apart) + 1);
    return atTop ? separate : separate.reverse();
  });
}

/** The groups of the segments, or of the whole line if all of it repeats. */
function runningGroups({ segments, groups, width }: EdgeLine): Group[] | undefined {
  const runningGroupOf = segments.map((edge) => edge.groups.find(({ isRunning }) => isRunning));
  const parts = runningGroupOf.filter((group, index) => {
    if (!group?.isNumber) return group !== undefined;
    // Right of its name a number is a value: Invoice 4711.
    const before = segments[index - 1]?.segment;
    const segment = segments[index]?.segment;
    if (!before || !segment || pageNumbersOf(`${before.text} 1`).length > 0) return true;
    return segment.left - before.right >= width * BESIDE && !readsAsLabel(before.text);
  });
  if (parts.length === segments.length) return parts.flatMap((group) => group ?? []);
  const whole = groups.find(({ isRunning }) => isRunning);
  return whole && [whole];
}

/** Ends the groups that too few pages with other text support; whether there were any. */
function dropRareGroups(
  groups: readonly Group[],
  sheets: readonly EdgedSheet[],
  running: readonly (readonly RunningLine[])[],
): boolean {
  const pages = new Map<Group, Set<number>>();
  sheets.forEach(({ page, segments, tables }, index) => {
    const lines = running[index] ?? [];
    const count = lines.reduce((sum, { line }) => sum + line.segments.length, 0);
    if (segments.length + tables.length <= count) return;
    for (const group of lines.flatMap((line) => line.groups)) {
      pages.set(group, (pages.get(group) ?? new Set()).add(page));
    }
  });
  const rare = groups.filter(
    (group) => group.isRunning && (pages.get(group)?.size ?? 0) < MIN_PAGES,
  );
  for (const group of rare) group.isRunning = false;
  return rare.length > 0;
}
