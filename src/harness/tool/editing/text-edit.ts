import { setImmediate } from 'node:timers/promises';
import { ToolError } from '../../fault/tool.error.js';
import { shown } from '../../workspace/workspace-path.js';
import type { EditableFile } from './editable-file.js';
import {
  BlockSearch,
  closestRegion,
  codesOf,
  decodeText,
  encodeText,
  joinLines,
  lineNumberAt,
  linesOf,
  numbered,
  occurrences,
} from './text-lines.js';
import type { FoundBy, Line } from './text-lines.js';

/** Largest text file that is edited, before and after. */
export const LARGEST_TEXT = 4 * 1024 * 1024;
/** Places that one edit may change. */
const MOST_PLACES = 50_000;
const SHOWN_NUMBERS = 10;

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export interface EditedText {
  readonly text: string;
  readonly count: number;
  /** Number, from 1, of the first line that was changed. */
  readonly line: number;
  readonly by: FoundBy | 'line-ends';
}

/**
 * Replaces a part of a text. The part must be there exactly as given, once unless all places are meant; else it may
 * differ in how lines end, in spaces at the ends of lines, or by one indentation before all lines, if that is one place
 * only. Lines that are not changed stay as they are, and new ones end as their neighbours do. Fails with ToolError:
 * INVALID_ARGUMENTS, NO_MATCH, AMBIGUOUS_MATCH or TOO_LARGE. Takes time in proportion to the texts. `name` is the file's
 * name for messages.
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
    exactly(text, edit, name) ?? butForLineEnds(text, edit, name) ?? loosely(text, edit, name);
  if (!edited) throw noMatch(text, oldText, name);
  if (edited.text !== text) return edited;
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The edit would leave ${name} as it is, because it differs in spaces or line ends only. Give the exact text.`,
  );
}

function exactly(text: string, edit: TextEdit, name: string): EditedText | undefined {
  const { oldText, newText, replaceAll } = edit;
  const found = occurrences(codesOf(text), codesOf(oldText));
  const [first] = found;
  if (first === undefined) return undefined;
  if (found.length > 1 && !replaceAll) throw ambiguousAt(text, found, name);
  const places = apart(found, oldText.length);
  const grown = text.length + places.length * (newText.length - oldText.length);
  if (grown > LARGEST_TEXT || places.length > MOST_PLACES) throw tooLarge(name);
  // A written \r\n is meant; else new lines end as those around them.
  const isMeant = `${oldText}${newText}`.includes('\r\n') || !newText.includes('\n');
  const ends = new LineEnds(text);
  const parts: string[] = [];
  let end = 0;
  for (const start of places) {
    parts.push(text.slice(end, start));
    end = start + oldText.length;
    const usualEnd = isMeant ? '\n' : ends.near(end);
    const part = text.slice(start, end);
    parts.push(isMeant ? newText : rebuilt({ part, usualEnd, oldText, newText }));
  }
  parts.push(text.slice(end));
  const line = lineNumberAt(text, first);
  return { text: parts.join(''), count: places.length, line, by: 'exact' };
}

/** Finds what differs in `\n` and `\r\n` alone. */
function butForLineEnds(text: string, edit: TextEdit, name: string): EditedText | undefined {
  if (!text.includes('\r\n') && !edit.oldText.includes('\r\n')) return undefined;
  const [oldText, newText] = [unix(edit.oldText), unix(edit.newText)];
  const plain = unix(text);
  const found = occurrences(codesOf(plain), codesOf(oldText));
  const [first] = found;
  if (first === undefined) return undefined;
  if (found.length > 1) throw ambiguousAt(plain, found, name);
  const [start, end] = [givenPosition(text, first), givenPosition(text, first + oldText.length)];
  const changed = replaced(text, { start, end }, { oldText, newText });
  return { text: changed, count: 1, line: lineNumberAt(plain, first), by: 'line-ends' };
}

/** Finds whole lines that differ in spaces. */
function loosely(text: string, edit: TextEdit, name: string): EditedText | undefined {
  let [oldText, newText] = [unix(edit.oldText), unix(edit.newText)];
  if (oldText.endsWith('\n') && newText.endsWith('\n')) {
    [oldText, newText] = [oldText.slice(0, -1), newText.slice(0, -1)];
  }
  const block = oldText.replace(/\n$/, '').split('\n');
  const lines = linesOf(text);
  const found = new BlockSearch(lines.map((line) => line.text)).loosely(block);
  const [first] = found?.at ?? [];
  if (!found || first === undefined) return undefined;
  if (found.at.length > 1) {
    const numbers = found.at.map((at) => at + 1);
    throw ambiguous({ name, what: 'oldText', count: numbers.length, lines: numbers });
  }
  const fitted = newText.split('\n').map((line) => found.fit(line, first));
  if (fitted.includes(undefined)) return undefined;
  const matched = lines.slice(first, first + block.length);
  const start = joinLines(lines.slice(0, first)).length;
  const whole = start + joinLines(matched).length;
  const lastEnd = matched.at(-1)?.end.length ?? 0;
  // The line end that oldText ends with is part of what is replaced, if the file has it.
  const takesEnd = oldText.endsWith('\n') && lastEnd > 0;
  const changed = replaced(
    text,
    { start, end: takesEnd ? whole : whole - lastEnd },
    { oldText: takesEnd ? oldText : block.join('\n'), newText, fitted: fitted.join('\n') },
  );
  return { text: changed, count: 1, line: first + 1, by: found.by };
}

function replaced(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  lines: Pick<Replacement, 'oldText' | 'newText' | 'fitted'>,
): string {
  const usualEnd = new LineEnds(text).near(end);
  const part = text.slice(start, end);
  return text.slice(0, start) + rebuilt({ part, usualEnd, ...lines }) + text.slice(end);
}

function unix(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** The position in the text that a position in the same text with plain line ends stands for. */
function givenPosition(text: string, plainPosition: number): number {
  let removed = 0;
  for (let at = text.indexOf('\r\n'); at >= 0 && at - removed < plainPosition;) {
    removed += 1;
    at = text.indexOf('\r\n', at + 2);
  }
  return plainPosition + removed;
}

/** From the left, those that do not overlap one before. */
function apart(found: readonly number[], length: number): number[] {
  const places: number[] = [];
  let end = 0;
  for (const start of found) {
    if (start < end) continue;
    places.push(start);
    end = start + length;
  }
  return places;
}

function ambiguousAt(text: string, positions: readonly number[], name: string): ToolError {
  const lines: number[] = [];
  let [line, before] = [1, 0];
  for (const position of positions.slice(0, SHOWN_NUMBERS)) {
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
  const shown = lines.slice(0, SHOWN_NUMBERS).join(', ');
  const more = count > SHOWN_NUMBERS ? ', …' : '';
  const all = what === 'oldText' ? ', or the exact text with replaceAll for all of them' : '';
  return new ToolError(
    'AMBIGUOUS_MATCH',
    `${what} is in ${count} places of ${name} (lines ${shown}${more}) and nothing was changed. Give more lines around the one you mean${all}.`,
  );
}

export function tooLarge(name: string): ToolError {
  return new ToolError(
    'TOO_LARGE',
    `${name} would be changed in more than ${MOST_PLACES} places or have more than ${LARGEST_TEXT / 1024 / 1024} MiB. Make the change smaller.`,
  );
}

function noMatch(text: string, oldText: string, name: string): ToolError {
  const lines = linesOf(text).map((line) => line.text);
  const region = closestRegion(lines, unix(oldText).split('\n'));
  const hint = region
    ? `The closest lines are ${region.from} to ${region.to}:\n${region.text}\nGive oldText exactly as it is in the file, without line numbers.`
    : 'No line of it is in the file. Read the file again and give oldText exactly as it is there.';
  return new ToolError(
    'NO_MATCH',
    `oldText was not found in ${name} and nothing was changed. ${hint}`,
  );
}

interface Replacement {
  /** The part as it is in the file. */
  readonly part: string;
  /** How lines end around it. */
  readonly usualEnd: '\n' | '\r\n';
  /** What stands for the part, line by line, with `\n` between the lines. */
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
  const pieces = piecesOf(part);
  const [before, after, written] = [oldText, newText, fitted].map((text) => text.split('\n'));
  const [old = [], now = [], fit = []] = [before, after, written];
  const { head, tail } = commonEnds(old, now);
  const changed = fit.slice(head, now.length - tail).map((text, index): Line => {
    const place = head + index;
    return { text, end: place < pieces.length - tail ? (pieces[place]?.end ?? '') : '' };
  });
  const all = [...pieces.slice(0, head), ...changed, ...pieces.slice(pieces.length - tail)];
  let last = pieces.find(({ end }) => end !== '')?.end ?? usualEnd;
  const parts: string[] = [];
  for (const [index, { text, end }] of all.entries()) {
    if (end !== '') last = end;
    parts.push(index === all.length - 1 ? text : text + last);
  }
  return parts.join('');
}

/** As split by line ends: one more than there are ends, the last one without. */
function piecesOf(text: string): Line[] {
  const lines = linesOf(text);
  return lines.at(-1)?.end === '' ? lines : [...lines, { text: '', end: '' }];
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

/** How lines end near places of a text that are asked for from left to right; each part of the text is looked at once. */
class LineEnds {
  private next = -1;
  private readonly last: number;

  constructor(private readonly text: string) {
    this.last = text.lastIndexOf('\n');
  }

  /** Of the line that holds the position, or else of the last one that has an end. */
  near(position: number): '\n' | '\r\n' {
    if (position > this.last) return this.endAt(this.last);
    if (this.next < position) this.next = this.text.indexOf('\n', position);
    return this.endAt(this.next);
  }

  private endAt(at: number): '\n' | '\r\n' {
    return at > 0 && this.text[at - 1] === '\r' ? '\r\n' : '\n';
  }
}

const SHOWN_LINES = 12;

/** The content after the edits, done in their order. ToolError, which names the edit if there are several. */
export async function editedContent(
  file: EditableFile,
  edits: readonly TextEdit[],
): Promise<{ readonly content: Buffer; readonly edited: readonly EditedText[] }> {
  const name = shown(file.path);
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
  if (content.length > LARGEST_TEXT) throw tooLarge(name);
  if (!content.equals(file.bytes)) return { content, edited };
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The edits together leave ${name} as it is: nothing to do.`,
  );
}

/** What the model reads: where the edits were done and, after a single one, the lines as they are now. */
export function outcomeOf(edited: readonly EditedText[]): string {
  const descriptions = edited.map(({ count, line, by }, index) => {
    const which = edited.length > 1 ? `edit ${index + 1}: ` : '';
    const places = count === 1 ? `line ${line}` : `${count} places, the first in line ${line}`;
    return `${which}${places}${LOOSELY[by]}`;
  });
  const [only, ...more] = edited;
  if (!only || more.length > 0) return `${descriptions.join('; ')}.`;
  const lines = linesOf(only.text).map(({ text }) => text);
  const from = Math.max(0, only.line - 3);
  return `${descriptions.join('; ')}. It now reads:\n${numbered(lines, from, from + SHOWN_LINES)}`;
}

const LOOSELY: Readonly<Record<EditedText['by'], string>> = {
  exact: '',
  'line-ends': '',
  'trailing-spaces': ' (found but for spaces at the ends of lines)',
  indentation: ' (found with another indentation, to which the new text was fitted)',
};

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
