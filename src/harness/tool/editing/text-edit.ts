import { ToolError } from '../../fault/tool.error.js';
import { BlockSearch } from './block-search.js';
import type { FoundBy } from './block-search.js';
import { closestRegion } from './closest-region.js';
import { codesOf, occurrences } from './occurrences.js';
import { LineEnds, rebuilt } from './rebuild.js';
import type { Replacement } from './rebuild.js';
import { joinLines, lineNumberAt, linesOf } from './text-content.js';

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
  // Whoever writes \r\n means it; else new lines end as those around them.
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
