import { ToolError } from '../../fault/tool.error.js';
import { utf8Text } from '../../workspace/utf8-text.js';

/** A line with what ends it; only the last line of a text may have no end. */
export interface Line {
  readonly text: string;
  readonly end: '' | '\n' | '\r\n';
}

/** A text file's content; the byte order mark at its beginning is kept apart, so that line 1 begins with its text. */
interface TextContent {
  readonly mark: '' | '\ufeff';
  readonly text: string;
}

/** NOT_TEXT unless the bytes are UTF-8 without NUL characters. `name` is the path as the model reads it. */
export function decodeText(bytes: Uint8Array, name: string): TextContent {
  const whole = utf8Text(bytes);
  if (whole === undefined) {
    throw new ToolError(
      'NOT_TEXT',
      `${name} is not UTF-8 text and cannot be edited. Use write_file to replace it as a whole, or leave it.`,
    );
  }
  return whole.startsWith('\ufeff')
    ? { mark: '\ufeff', text: whole.slice(1) }
    : { mark: '', text: whole };
}

export function encodeText({ mark, text }: TextContent): Buffer {
  return Buffer.from(mark + text);
}

/** Only `\n` and `\r\n` end a line. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
    const isPair = at > start && text.charCodeAt(at - 1) === 13;
    lines.push({ text: text.slice(start, isPair ? at - 1 : at), end: isPair ? '\r\n' : '\n' });
    start = at + 1;
  }
  if (start < text.length) lines.push({ text: text.slice(start), end: '' });
  return lines;
}

export function joinLines(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('');
}

/** The number of the line, from 1, that holds the position. */
export function lineNumberAt(text: string, position: number): number {
  let number = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
    number += 1;
  }
  return number;
}

/** The line without spaces and tabs at its end. A pattern would take quadratic time for a run of spaces inside of a line. */
function withoutTrailing(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\r'.includes(line.charAt(end - 1))) end -= 1;
  return line.slice(0, end);
}

/** The spaces and tabs that a line begins with. */
function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** How a block of lines was found: as given, or by one of the two safe fallbacks. */
export type FoundBy = 'exact' | 'trailing-spaces' | 'indentation';

export interface FoundBlock {
  /** Indexes, from 0, of the lines at which the block begins. */
  readonly at: readonly number[];
  readonly by: FoundBy;
  /** Fits a line of the replacement to the place that begins there; undefined when it cannot be fitted. */
  readonly fit: (line: string, start: number) => string | undefined;
}

/** More places than a person would look at. */
const MOST_INDENTED = 1_000;
/** Lines whose indentation is compared at most, unless there is one place only: some tenths of a second. */
const MOST_COMPARED = 2_000_000;

const asGiven = (line: string): string => line;

/** What of a line counts. */
const KEYS: Readonly<Record<FoundBy, (line: string) => string>> = {
  exact: asGiven,
  'trailing-spaces': withoutTrailing,
  indentation: trimmed,
};

/**
 * Finds blocks of whole lines in one file: as given; else but for spaces at the ends of lines; else but for one and the
 * same indentation before all of them. A fallback is for the caller to take only where it finds one place.
 */
export class BlockSearch {
  private readonly indexes = new Map<FoundBy, { numbers: LineNumbers; file: Int32Array }>();

  /** `lines` without what ends them. */
  constructor(private readonly lines: readonly string[]) {}

  /** The places as given; empty when there are none. */
  exactly(block: readonly string[]): FoundBlock {
    return { at: this.places('exact', block), by: 'exact', fit: asGiven };
  }

  /** The places by the fallbacks, the first one that finds any. */
  loosely(block: readonly string[]): FoundBlock | undefined {
    if (block.every((line) => line.trim() === '')) return undefined;
    const by = 'trailing-spaces';
    const at = this.places(by, block);
    return at.length > 0 ? { at, by, fit: asGiven } : this.butForIndentation(block);
  }

  private butForIndentation(block: readonly string[]): FoundBlock | undefined {
    const by = 'indentation';
    const candidates = this.places(by, block);
    const compared = candidates.length * block.length;
    if (candidates.length > MOST_INDENTED) return undefined;
    if (candidates.length > 1 && compared > MOST_COMPARED) return undefined;
    const shifts = new Map<number, Shift>();
    for (const start of candidates) {
      const shift = shiftOf(this.lines.slice(start, start + block.length), block);
      if (shift) shifts.set(start, shift);
    }
    if (shifts.size === 0) return undefined;
    const fit: FoundBlock['fit'] = (line, start) => {
      const shift = shifts.get(start);
      return shift && shifted(line, shift);
    };
    return { at: [...shifts.keys()], by, fit };
  }

  private places(by: FoundBy, block: readonly string[]): number[] {
    const key = KEYS[by];
    let index = this.indexes.get(by);
    if (!index) {
      const numbers = new LineNumbers();
      index = { numbers, file: numbers.of(this.lines.map(key)) };
      this.indexes.set(by, index);
    }
    return occurrences(index.file, index.numbers.of(block.map(key)));
  }
}

/** What the file has before every line and the block has not, or the other way round. */
interface Shift {
  readonly adds: boolean;
  readonly indent: string;
}

function shiftOf(lines: readonly string[], block: readonly string[]): Shift | undefined {
  let common: Shift | undefined;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const shift = shiftOfLine(indentOf(line), indentOf(block[index] ?? ''));
    if (!shift || (common && (common.adds !== shift.adds || common.indent !== shift.indent))) {
      return undefined;
    }
    common = shift;
  }
  return common;
}

function shiftOfLine(inFile: string, inBlock: string): Shift | undefined {
  if (inFile.endsWith(inBlock)) {
    return { adds: true, indent: inFile.slice(0, inFile.length - inBlock.length) };
  }
  if (!inBlock.endsWith(inFile)) return undefined;
  return { adds: false, indent: inBlock.slice(0, inBlock.length - inFile.length) };
}

function shifted(line: string, { adds, indent }: Shift): string | undefined {
  if (line.trim() === '') return line;
  if (adds) return indent + line;
  return line.startsWith(indent) ? line.slice(indent.length) : undefined;
}

/** Without spaces and tabs at both ends; other white space is text. */
function trimmed(line: string): string {
  return withoutTrailing(line).slice(indentOf(line).length);
}

/**
 * Where the pattern begins in the sequence, overlapping ones included, by Knuth, Morris and Pratt: the time is that of
 * reading both once, whatever a model or a file makes up. Empty for an empty pattern.
 */
export function occurrences(sequence: ArrayLike<number>, pattern: ArrayLike<number>): number[] {
  const { length } = pattern;
  if (length === 0 || length > sequence.length) return [];
  const borders = bordersOf(pattern);
  const found: number[] = [];
  let matched = 0;
  for (let at = 0; at < sequence.length; at += 1) {
    while (matched > 0 && sequence[at] !== pattern[matched]) matched = borders[matched - 1] ?? 0;
    if (sequence[at] === pattern[matched]) matched += 1;
    if (matched < length) continue;
    found.push(at - length + 1);
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For every beginning of the pattern, the length of its longest proper beginning that also ends it. */
function bordersOf(pattern: ArrayLike<number>): Int32Array {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    while (length > 0 && pattern[at] !== pattern[length]) length = borders[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** A text as a sequence of its UTF-16 code units. */
export function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  return codes;
}

/** Turns lines into numbers, the same line into the same number. */
class LineNumbers {
  private readonly numbers = new Map<string, number>();

  of(lines: readonly string[]): Int32Array {
    return Int32Array.from(lines, (line) => {
      const known = this.numbers.get(line);
      if (known !== undefined) return known;
      this.numbers.set(line, this.numbers.size);
      return this.numbers.size - 1;
    });
  }
}

const SHOWN_LINES = 12;
const SHOWN_CHARACTERS = 200;
/** Lines that occur more often say nothing about a place. */
const MOST_PLACES = 50;

/**
 * The lines of the file that are most like the block, with their numbers, for a message; undefined when no line of the
 * block is anywhere. Lines are compared without any white space and without case.
 */
export function closestRegion(
  lines: readonly string[],
  block: readonly string[],
): { readonly from: number; readonly to: number; readonly text: string } | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const key = essence(line);
    if (key === '') continue;
    const known = places.get(key);
    if (!known) places.set(key, [index]);
    else if (known.length <= MOST_PLACES) known.push(index);
  }
  const start = mostVoted(places, block);
  if (start === undefined) return undefined;
  const from = Math.max(0, start);
  const to = Math.min(lines.length, from + Math.min(Math.max(block.length, 3), SHOWN_LINES));
  return { from: from + 1, to, text: numbered(lines, from, to) };
}

/** Lines with their numbers, long ones cut. */
export function numbered(lines: readonly string[], from: number, to: number): string {
  return lines
    .slice(from, to)
    .map((line, index) => {
      const cut = line.length > SHOWN_CHARACTERS;
      const shown = cut ? `${line.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : line;
      return `${from + index + 1}: ${shown}`;
    })
    .join('\n');
}

/** Every line that both have votes for where the block would begin. */
function mostVoted(
  places: ReadonlyMap<string, readonly number[]>,
  block: readonly string[],
): number | undefined {
  const votes = new Map<number, number>();
  for (const [index, line] of block.entries()) {
    const at = places.get(essence(line)) ?? [];
    if (at.length > MOST_PLACES) continue;
    for (const place of at) votes.set(place - index, (votes.get(place - index) ?? 0) + 1);
  }
  let best: number | undefined;
  for (const [start, count] of votes) {
    const isBetter = best === undefined || count > (votes.get(best) ?? 0);
    if (isBetter) best = start;
  }
  return best;
}

function essence(line: string): string {
  return line.replaceAll(/\s+/g, '').toLowerCase();
}
