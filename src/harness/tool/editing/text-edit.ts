import { setImmediate } from 'node:timers/promises';
import { ToolError } from '../../protocol/tool-call.js';
import { utf8Text } from '../../protocol/values.js';
import { displayPath } from '../../workspace/workspace-path.js';
import { placesOf, TextLines } from '../tool.js';
import type { Places } from '../tool.js';

/** Size of the largest text file that can be edited, before and after the edit. */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Replacements that one edit with replaceAll may make. */
const MAX_REPLACEMENTS = 50_000;
const MAX_LINE_NUMBERS = 10;

interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export interface EditedText {
  readonly text: string;
  readonly count: number;
  /** Number, from 1, of the first line that was changed. */
  readonly line: number;
  readonly match: Match | 'line-endings';
}

/**
 * Replaces a part of a text. The part must be there exactly as given, once unless replaceAll is set. Otherwise it may
 * differ in line endings, or be whole lines that differ in white space around them and in typographic characters
 * (BlockSearch), if that fits one place only. Unchanged lines stay as they are, and new lines end as their neighbours do.
 * Takes time in proportion to the texts. `name` is the file's name for messages. Fails with ToolError INVALID_ARGUMENTS,
 * NO_MATCH, AMBIGUOUS_MATCH or TOO_LARGE.
 */
export function editText(text: string, edit: TextEdit, name: string): EditedText {
  const { oldText, newText } = edit;
  if (oldText === '') {
    throw new ToolError(
      'INVALID_ARGUMENTS',
      'oldText is empty. Give the text to be replaced with enough lines around it, or make a new file with write_file.',
    );
  }
  if (oldText === newText) {
    throw new ToolError('INVALID_ARGUMENTS', 'oldText and newText are the same: nothing to do.');
  }
  const edited =
    matchExactly(text, edit, name) ??
    matchIgnoringLineEndings(text, edit, name) ??
    matchFuzzy(text, edit, name);
  if (!edited) throw noMatch(text, oldText, name);
  if (edited.text !== text) return edited;
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The edit would leave ${name} as it is, because it differs in spaces or line ends only. Give the exact text.`,
  );
}

function matchExactly(text: string, edit: TextEdit, name: string): EditedText | undefined {
  const { oldText, newText, replaceAll } = edit;
  const positions = occurrences(codesOf(text), codesOf(oldText));
  const [first] = positions;
  if (first === undefined) return undefined;
  if (positions.length > 1 && !replaceAll) throw ambiguousAt(text, positions, name);
  const starts = nonOverlapping(positions, oldText.length);
  const grown = text.length + starts.length * (newText.length - oldText.length);
  if (grown > MAX_TEXT_BYTES || starts.length > MAX_REPLACEMENTS) throw tooLarge(name);
  // An explicit \r\n is kept as written; otherwise new lines end as those around them.
  const keepsEndings = `${oldText}${newText}`.includes('\r\n') || !newText.includes('\n');
  const endings = new LineEndings(text);
  const parts: string[] = [];
  let end = 0;
  for (const start of starts) {
    parts.push(text.slice(end, start));
    end = start + oldText.length;
    const part = text.slice(start, end);
    parts.push(
      keepsEndings ? newText : rebuilt({ part, usualEnd: endings.near(end), oldText, newText }),
    );
  }
  parts.push(text.slice(end));
  const line = lineNumberAt(text, first);
  return { text: parts.join(''), count: starts.length, line, match: 'exact' };
}

/** Treats `\n` and `\r\n` alike. */
function matchIgnoringLineEndings(
  text: string,
  edit: TextEdit,
  name: string,
): EditedText | undefined {
  if (!text.includes('\r\n') && !edit.oldText.includes('\r\n')) return undefined;
  const [oldText, newText] = [unix(edit.oldText), unix(edit.newText)];
  const unixText = unix(text);
  const positions = occurrences(codesOf(unixText), codesOf(oldText));
  const [first] = positions;
  if (first === undefined) return undefined;
  if (positions.length > 1) throw ambiguousAt(unixText, positions, name);
  const start = positionInOriginal(text, first);
  const end = positionInOriginal(text, first + oldText.length);
  const changed = replaced(text, { start, end }, { oldText, newText });
  return { text: changed, count: 1, line: lineNumberAt(unixText, first), match: 'line-endings' };
}

/** Matches whole lines by BlockSearch.fuzzy and indents the new lines as the file is. */
function matchFuzzy(text: string, edit: TextEdit, name: string): EditedText | undefined {
  let [oldText, newText] = [unix(edit.oldText), unix(edit.newText)];
  if (oldText.endsWith('\n') && newText.endsWith('\n')) {
    [oldText, newText] = [oldText.slice(0, -1), newText.slice(0, -1)];
  }
  const block = oldText.replace(/\n$/, '').split('\n');
  const lines = new TextLines(text);
  const matches = new BlockSearch(lines).fuzzy(block);
  const [first] = matches?.starts ?? [];
  if (!matches || first === undefined) return undefined;
  if (matches.starts.length > 1) {
    const numbers = matches.starts.map((start) => start + 1);
    throw ambiguous({ name, what: 'oldText', count: numbers.length, lines: numbers });
  }
  const fitted = newText.split('\n').map((line) => matches.fit(line, first));
  if (fitted.includes(undefined)) return undefined;
  const [start, whole] = [lines.start(first), lines.start(first + block.length)];
  const lastEnd = lines.end(first + block.length - 1).length;
  // The line ending that oldText ends with is replaced, too, if the file has it.
  const takesEnd = oldText.endsWith('\n') && lastEnd > 0;
  const changed = replaced(
    text,
    { start, end: takesEnd ? whole : whole - lastEnd },
    { oldText: takesEnd ? oldText : block.join('\n'), newText, fitted: fitted.join('\n') },
  );
  return { text: changed, count: 1, line: first + 1, match: 'fuzzy' };
}

function replaced(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  lines: Pick<Replacement, 'oldText' | 'newText' | 'fitted'>,
): string {
  const usualEnd = new LineEndings(text).near(end);
  const part = text.slice(start, end);
  return text.slice(0, start) + rebuilt({ part, usualEnd, ...lines }) + text.slice(end);
}

function unix(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Maps a position in `unix(text)` to the position in the text. */
function positionInOriginal(text: string, unixPosition: number): number {
  let removed = 0;
  for (let at = text.indexOf('\r\n'); at >= 0 && at - removed < unixPosition;) {
    removed += 1;
    at = text.indexOf('\r\n', at + 2);
  }
  return unixPosition + removed;
}

/** The positions, from the left, that do not overlap the one before. */
function nonOverlapping(positions: readonly number[], length: number): number[] {
  const starts: number[] = [];
  let end = 0;
  for (const start of positions) {
    if (start < end) continue;
    starts.push(start);
    end = start + length;
  }
  return starts;
}

function ambiguousAt(text: string, positions: readonly number[], name: string): ToolError {
  const lines: number[] = [];
  let [line, before] = [1, 0];
  for (const position of positions.slice(0, MAX_LINE_NUMBERS)) {
    line += lineNumberAt(text.slice(before, position), position) - 1;
    before = position;
    lines.push(line);
  }
  return ambiguous({ name, what: 'oldText', count: positions.length, lines });
}

/** The message for a text that is in several places; `lines` may be the first ones alone. */
export function ambiguous({
  name,
  what,
  count,
  lines,
}: {
  readonly name: string;
  readonly what: string;
  readonly count: number;
  readonly lines: readonly number[];
}): ToolError {
  const lineList = lines.slice(0, MAX_LINE_NUMBERS).join(', ');
  const more = count > MAX_LINE_NUMBERS ? ', …' : '';
  const all = what === 'oldText' ? ', or the exact text with replaceAll for all of them' : '';
  return new ToolError(
    'AMBIGUOUS_MATCH',
    `${what} is in ${count} places of ${name} (lines ${lineList}${more}) and nothing was changed. Give more lines around the one you mean${all}.`,
  );
}

export function tooLarge(name: string): ToolError {
  return new ToolError(
    'TOO_LARGE',
    `${name} would be changed in more than ${MAX_REPLACEMENTS} places or have more than ${MAX_TEXT_BYTES / 1024 / 1024} MiB. Make the change smaller.`,
  );
}

function noMatch(text: string, oldText: string, name: string): ToolError {
  const closest = closestLines(new TextLines(text), unix(oldText).split('\n'));
  const hint = closest
    ? `${closest}\nGive oldText exactly as it is in the file, without line numbers.`
    : 'No line of it is in the file. Read the file again and give oldText exactly as it is there.';
  return new ToolError(
    'NO_MATCH',
    `oldText was not found in ${name} and nothing was changed. ${hint}`,
  );
}

interface Replacement {
  /** The part as it is in the file. */
  readonly part: string;
  /** Line end used around the part. */
  readonly usualEnd: '\n' | '\r\n';
  /** Text that replaces the part, line by line, with `\n` between the lines. */
  readonly oldText: string;
  readonly newText: string;
  /** The new text as it is written where it differs in spaces; line by line as the new text. */
  readonly fitted?: string;
}

/**
 * The part as it is after the replacement: the lines at its beginning and end that old and new text have in common stay
 * as they are in the file, and the others end as the lines in whose places they come, or else as the line before them.
 */
function rebuilt({ part, usualEnd, oldText, newText, fitted = newText }: Replacement): string {
  const pieces = new TextLines(part);
  // Splitting by line ends yields one more piece than there are ends.
  const pieceCount = pieces.length + (part === '' || part.endsWith('\n') ? 1 : 0);
  const [before, after, written] = [oldText, newText, fitted].map((text) => text.split('\n'));
  const [old = [], now = [], fit = []] = [before, after, written];
  const { head, tail } = commonEnds(old, now);
  let last = pieces.end(0) || usualEnd;
  const parts: string[] = [];
  for (const [index, line] of fit.entries()) {
    const isTail = index >= now.length - tail;
    const isChanged = index >= head && !isTail;
    const place = isTail ? index - now.length + pieceCount : index;
    const isAdded = isChanged && place >= pieceCount - tail;
    if (!isAdded) last = pieces.end(place) || last;
    const text = isChanged ? line : pieces.at(place);
    parts.push(index === now.length - 1 ? text : text + last);
  }
  return parts.join('');
}

function commonEnds(
  old: readonly string[],
  now: readonly string[],
): { readonly head: number; readonly tail: number } {
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return { head, tail };
}

/** Line endings near positions that are asked for from left to right; reads the text once. */
class LineEndings {
  private next = -1;
  private readonly last: number;

  constructor(private readonly text: string) {
    this.last = text.lastIndexOf('\n');
  }

  /** The ending of the line that holds the position, or else of the last line that has one. */
  near(position: number): '\n' | '\r\n' {
    if (position > this.last) return this.endAt(this.last);
    if (this.next < position) this.next = this.text.indexOf('\n', position);
    return this.endAt(this.next);
  }

  private endAt(at: number): '\n' | '\r\n' {
    return at > 0 && this.text[at - 1] === '\r' ? '\r\n' : '\n';
  }
}

/** The content after the edits, applied in their order. ToolError, which names the edit if there are several. */
export async function editedContent(
  file: { readonly path: string; readonly bytes: Buffer },
  edits: readonly TextEdit[],
): Promise<{ readonly content: Buffer; readonly edited: readonly EditedText[] }> {
  const name = displayPath(file.path);
  const before = decodeText(file.bytes, name);
  const edited: EditedText[] = [];
  let { text } = before;
  for (const [index, edit] of edits.entries()) {
    // Other requests come in between.
    if (index > 0) await setImmediate();
    const done = inEdit(() => editText(text, edit, name), index, edits.length);
    edited.push(done);
    text = done.text;
  }
  const content = encodeText({ ...before, text });
  if (content.length > MAX_TEXT_BYTES) throw tooLarge(name);
  if (!content.equals(file.bytes)) return { content, edited };
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The edits together leave ${name} as it is: nothing to do.`,
  );
}

/** Result for the model: where the edits were made and, after a single one, the lines as they are now. */
export function outcomeOf(edited: readonly EditedText[]): string {
  const descriptions = edited.map(({ count, line, match }, index) => {
    const which = edited.length > 1 ? `edit ${index + 1}: ` : '';
    const places = count === 1 ? `line ${line}` : `${count} places, the first in line ${line}`;
    return `${which}${places}${match === 'fuzzy' ? FUZZY_NOTE : ''}`;
  });
  const [only, ...more] = edited;
  if (!only || more.length > 0) return `${descriptions.join('; ')}.`;
  const lines = new TextLines(only.text);
  const from = Math.max(0, only.line - 3);
  return `${descriptions.join('; ')}. It now reads:\n${numbered(lines, from, from + MAX_SHOWN_LINES)}`;
}

const FUZZY_NOTE =
  ' (found but for indentation, spaces at the ends of lines or typographic characters; the new text was indented as the file is)';

function inEdit<T>(work: () => T, index: number, count: number): T {
  try {
    return work();
  } catch (error) {
    if (count === 1 || !(error instanceof ToolError)) throw error;
    throw new ToolError(
      error.code,
      `Edit ${index + 1} of ${count} cannot be done, so none was. ${error.message}`,
    );
  }
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

/** The number of the line, from 1, that holds the position. */
function lineNumberAt(text: string, position: number): number {
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
export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** Match level at which a block of lines was found. */
export type Match = 'exact' | 'fuzzy';

export interface BlockMatches {
  /** Indexes, from 0, of the lines at which the block begins. */
  readonly starts: readonly number[];
  readonly match: Match;
  /** Indents a line of the replacement as the file is at that start; undefined when it cannot be moved so far left. */
  readonly fit: (line: string, start: number) => string | undefined;
}

/** Exceeds the number of places that a person would inspect. */
const MAX_CANDIDATES = 1_000;
/** Lines whose indentation is compared at most, unless there is one place only: some tenths of a second. */
const MAX_COMPARED_LINES = 2_000_000;

const unchanged = (line: string): string => line;

/**
 * Finds blocks of whole lines in one file. Agents see models get exactly two things wrong so often that a match is worth
 * it: white space around lines (charmbracelet/crush PR 3452; the trim passes of codex-rs/apply-patch/src/seek_sequence.rs
 * and their tests), and plain quotes, dashes and spaces where the file has typographic ones (openai/codex PR 610;
 * github/copilot-cli issue 3254). Similarity, anchors and ignored inner white space are left out: they edit wrong places.
 */
export class BlockSearch {
  private readonly numbers = new LineNumbers();
  private readonly indexes = new Map<Match, Int32Array>();

  constructor(private readonly lines: TextLines) {}

  /** The places where the lines are as given; empty when there are none. */
  exact(block: readonly string[]): BlockMatches {
    return { starts: this.places('exact', block), match: 'exact', fit: unchanged };
  }

  /**
   * The places where the lines differ from the file by white space at their ends, by one indentation before all of them,
   * or by plain characters for typographic ones. Undefined for none, for too many, and for a block without any text.
   */
  fuzzy(block: readonly string[]): BlockMatches | undefined {
    if (block.every((line) => line.trim() === '')) return undefined;
    const candidates = this.places('fuzzy', block);
    const compared = candidates.length * block.length;
    if (candidates.length > MAX_CANDIDATES) return undefined;
    if (candidates.length > 1 && compared > MAX_COMPARED_LINES) return undefined;
    const shifts = new Map<number, Shift>();
    const sameButEnds: number[] = [];
    for (const start of candidates) {
      const lines = this.lines.slice(start, start + block.length);
      const shift = shiftOf(lines, block);
      if (shift) shifts.set(start, shift);
      if (lines.every((line, at) => withoutTrailing(line) === withoutTrailing(block[at] ?? ''))) {
        sameButEnds.push(start);
      }
    }
    if (shifts.size === 0) return undefined;
    const fit: BlockMatches['fit'] = (line, start) => {
      const shift = shifts.get(start);
      return shift && shifted(line, shift);
    };
    // Lines that differ at their ends alone are meant before others that look like them.
    const starts = sameButEnds.length > 0 ? sameButEnds : [...shifts.keys()];
    return { starts, match: 'fuzzy', fit };
  }

  private places(match: Match, block: readonly string[]): number[] {
    const key = match === 'exact' ? unchanged : fuzzyKey;
    const index = this.indexes.get(match) ?? this.numbers.of(this.lines, key);
    this.indexes.set(match, index);
    return occurrences(index, this.numbers.of(block, key));
  }
}

/** Lines with one key may match; `shiftOf` decides. */
function fuzzyKey(line: string): string {
  return plainText(trimmed(line));
}

/** Typographic characters by the plain one that each stands for. */
const TYPOGRAPHY: Readonly<Record<string, string>> = {
  "'": '‘’‚‛′',
  '"': '“”„‟″',
  '-': '‐‑‒–—―−',
  ' ': '\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
};
const PLAIN: ReadonlyMap<string, string> = new Map(
  Object.entries(TYPOGRAPHY).flatMap(([plain, others]) => [...others].map((one) => [one, plain])),
);
const TYPOGRAPHIC = new RegExp(`[${[...PLAIN.keys()].join('')}]`, 'g');

/** The text with plain quotes, dashes and spaces, as long as before. */
function plainText(text: string): string {
  return text.replaceAll(TYPOGRAPHIC, (character) => PLAIN.get(character) ?? character);
}

/** Whether each typographic character of the given line is in the line of the file, too: what is new stays plain. */
function keepsTypography(inFile: string, wantedLine: string): boolean {
  return [...wantedLine.matchAll(TYPOGRAPHIC)].every(({ 0: one, index }) => inFile[index] === one);
}

/** The indentation that the file has before every line and the block has not, or the other way round. */
interface Shift {
  readonly adds: boolean;
  readonly indent: string;
}

function shiftOf(lines: readonly string[], block: readonly string[]): Shift | undefined {
  let common: Shift | undefined;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const wantedLine = block[index] ?? '';
    if (!keepsTypography(trimmed(line), trimmed(wantedLine))) return undefined;
    const shift = shiftOfLine(indentOf(line), indentOf(wantedLine));
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

/** The line without spaces and tabs at both ends; other white space is text. */
function trimmed(line: string): string {
  return withoutTrailing(line).slice(indentOf(line).length);
}

/**
 * Positions of the pattern in the sequence, overlapping ones included, by Knuth, Morris and Pratt: the time is linear,
 * whatever a model or a file contains. Empty for an empty pattern.
 */
export function occurrences(sequence: ArrayLike<number>, pattern: ArrayLike<number>): number[] {
  const { length } = pattern;
  if (length === 0 || length > sequence.length) return [];
  const borders = bordersOf(pattern);
  const positions: number[] = [];
  let matched = 0;
  for (let at = 0; at < sequence.length; at += 1) {
    while (matched > 0 && sequence[at] !== pattern[matched]) matched = borders[matched - 1] ?? 0;
    if (sequence[at] === pattern[matched]) matched += 1;
    if (matched < length) continue;
    positions.push(at - length + 1);
    matched = borders[matched - 1] ?? 0;
  }
  return positions;
}

/** For every prefix of the pattern, the length of its longest proper prefix that is also its suffix. */
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

  of(
    lines: Iterable<string> & { readonly length: number },
    key: (line: string) => string,
  ): Int32Array {
    const numbers = new Int32Array(lines.length);
    let index = 0;
    for (const line of lines) {
      const counted = key(line);
      const number = this.numbers.get(counted) ?? this.numbers.size;
      if (number === this.numbers.size) this.numbers.set(counted, number);
      numbers[index] = number;
      index += 1;
    }
    return numbers;
  }
}

const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARS = 200;
/**
 * Says which lines of the file are most like the block, with their numbers; undefined when no line of the block is
 * anywhere. Lines are compared without any white space and without case.
 */
export function closestLines(lines: TextLines, block: readonly string[]): string | undefined {
  const wanted = block.map(essence);
  const start = mostVoted(placesOf(lines[Symbol.iterator]().map(essence), wanted), wanted);
  if (start === undefined) return undefined;
  const from = Math.max(0, start);
  const to = Math.min(lines.length, from + Math.min(Math.max(block.length, 3), MAX_SHOWN_LINES));
  return `The closest lines are ${from + 1} to ${to}:\n${numbered(lines, from, to)}`;
}

/** Lines with their numbers, long ones cut. */
function numbered(lines: TextLines, from: number, to: number): string {
  return lines
    .slice(from, to)
    .map((line, index) => {
      const cut = line.length > MAX_SHOWN_CHARS;
      const visible = cut ? `${line.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : line;
      return `${from + index + 1}: ${visible}`;
    })
    .join('\n');
}

/** Every line that both have votes for where the block would begin; empty ones, and those that occur often, do not. */
function mostVoted(places: Places, block: readonly string[]): number | undefined {
  const votes = new Map<number, number>();
  for (const [index, line] of block.entries()) {
    if (line === '') continue;
    for (const place of places(line)) {
      votes.set(place - index, (votes.get(place - index) ?? 0) + 1);
    }
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
