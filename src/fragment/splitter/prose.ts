import {
  CharacterClass,
  characterCut,
  classOf,
  isBlank,
  isUnspaced,
  wordCut,
  wordStart,
  characterStart,
} from './character.js';
import type { Span, Block } from './block.js';

/** Kind of boundary at an offset of prose, from the weakest to the strongest. */
const Beginning = {
  none: 0,
  word: 1,
  line: 2,
  sentence: 3,
  /** Separator of the knowledge base, if it consists of blanks. */
  separator: 4,
  paragraph: 5,
} as const;

type Beginning = (typeof Beginning)[keyof typeof Beginning];

/** The boundary at `at`. The separator consists of blanks, or is empty. */
function beginningAt(text: string, at: number, separator: string): Beginning {
  const next = text.charCodeAt(at);
  if (isBlank(next)) return Beginning.none;
  const before = text.charCodeAt(at - 1);
  if (!isBlank(before)) return beginningInRun(text, at);
  let start = at;
  let lines = 0;
  while (start > 0 && isBlank(text.charCodeAt(start - 1))) {
    start -= 1;
    if (text[start] === '\n') lines += 1;
  }
  if (lines > 1) return Beginning.paragraph;
  if (separator !== '' && text.slice(start, at).includes(separator)) return Beginning.separator;
  if (endsSentence(text, start) && !isLowerCase(text, at)) return Beginning.sentence;
  if (lines === 0) return Beginning.word;
  return goesOn(text, start, at) ? Beginning.line : Beginning.sentence;
}

/** Boundary in text without a blank at the offset: sentences and clauses of Chinese, Japanese and similar scripts. */
function beginningInRun(text: string, at: number): Beginning {
  const before = classOf(text.charCodeAt(at - 1));
  if (before === 0) return Beginning.none;
  const next = text.charCodeAt(at);
  if ((classOf(next) & NEVER_FIRST) !== 0) return Beginning.none;
  const mark = classOf(text.charCodeAt(beforeClosers(text, at) - 1));
  if ((mark & CharacterClass.plainMark) !== 0) return Beginning.sentence;
  const paused = (before & CharacterClass.pause) !== 0 && isUnspaced(next);
  return paused ? Beginning.word : Beginning.none;
}

const NEVER_FIRST = CharacterClass.closer | CharacterClass.plainMark | CharacterClass.spacedMark;

function endsSentence(text: string, end: number): boolean {
  const mark = beforeClosers(text, end) - 1;
  const markClass = classOf(text.charCodeAt(mark));
  if ((markClass & CharacterClass.plainMark) !== 0) return true;
  if ((markClass & CharacterClass.spacedMark) === 0) return false;
  return !(text[mark] === '.' && endsNothing(text, mark));
}

/** The dot of "J. Smith", and that of the number of a list's item. */
function endsNothing(text: string, dot: number): boolean {
  return /(^|\s)\p{Lu}$|(^|\n)[ \t]*\d{1,3}$/u.test(text.slice(Math.max(0, dot - 8), dot));
}

/** Skips at most a few closers: a text of closers alone must not be scanned again from each. */
function beforeClosers(text: string, end: number): number {
  let last = end;
  while (last > end - 4 && isCloser(text.charCodeAt(last - 1))) last -= 1;
  return last;
}

function isCloser(code: number): boolean {
  return (classOf(code) & CharacterClass.closer) !== 0;
}

/** A sentence that a line end interrupts, as in text wrapped at a width, goes on in lower case or in the same script. */
function goesOn(text: string, end: number, at: number): boolean {
  if (isLowerCase(text, at)) return true;
  return isUnspaced(text.charCodeAt(end - 1)) && isUnspaced(text.charCodeAt(at));
}

function isLowerCase(text: string, at: number): boolean {
  return /^\p{Ll}$/u.test(text[at] ?? '');
}

export interface CutRange {
  /** The cut lies behind it. */
  readonly from: number;
  /** The text up to the cut, without blanks at its end, ends here at the latest. */
  readonly limit: number;
  /** Offset from which a cut is better than one in the middle of a sentence. */
  readonly early: number;
}

/**
 * Cut of prose that exceeds the limit: at the last paragraph, else separator, else sentence that begins behind `early`;
 * else at a line or word in its later half; else between two characters.
 */
export function proseCut(text: string, range: CutRange, separator: string): number {
  const { from, limit } = range;
  const early = Math.max(range.early, from);
  const late = early + Math.floor((limit - early) / 2);
  let best: Beginning = Beginning.none;
  let cut = from;
  // A cut right behind the blanks that follow the limit leaves nothing but them beyond it.
  for (let at = afterBlanks(text, limit); at > early; at -= 1) {
    const beginning = beginningAt(text, at, separator);
    if (beginning <= best || (at <= late && beginning < Beginning.sentence)) continue;
    best = beginning;
    cut = at;
    if (beginning === Beginning.paragraph) break;
  }
  if (best !== Beginning.none) return cut;
  const word = wordCut(text, Math.max(from, late), limit);
  return word > late ? word : characterCut(text, from, limit);
}

/** The first place from `at` on that is not blank. */
export function afterBlanks(text: string, at: number): number {
  let next = at;
  while (isBlank(text.charCodeAt(next))) next += 1;
  return next;
}

interface OverlapRequest {
  /** Start of the fragment's own text. */
  readonly at: number;
  readonly longest: number;
  /** Blanks between the two, which are repeated as well, and what is repeated take no more than this. */
  readonly availableLength: number;
  /** The fragment before it. */
  readonly above: Span;
  /** Lower bound of the start. */
  readonly floor: number;
  /** Whether the repeated text is code, which is repeated in whole lines if one is short enough. */
  readonly lines: boolean;
}

/** A sentence that begins this soon behind the earliest place is a better start than the first word. */
const SENTENCE_SHARE = 0.1;

/**
 * Start of a fragment that repeats the end of the previous one: `longest` characters of it, reduced to the first word
 * that begins among them, or to the first sentence if one begins nearly as early. Never repeats the whole fragment, nor
 * a part of a longer word, unless the cut is within it or its script has no blanks.
 */
export function overlapStart(text: string, request: OverlapRequest): number {
  const { at, above, floor, lines } = request;
  const earliest = Math.max(
    above.end - request.longest,
    at - request.availableLength,
    floor,
    above.start + 1,
  );
  if (earliest >= above.end) return at;
  const line = lines ? nextLine(text, earliest, above.end) : undefined;
  return line ?? nearestBeginning(text, earliest, at);
}

function nextLine(text: string, earliest: number, end: number): number | undefined {
  for (let at = earliest; at < end; at += 1) if (text[at - 1] === '\n') return at;
  return undefined;
}

function nearestBeginning(text: string, earliest: number, end: number): number {
  const soon = earliest + Math.floor((end - earliest) * SENTENCE_SHARE);
  // Clauses may begin far apart in a script without blanks, but words are everywhere.
  const unspaced = isUnspaced(text.charCodeAt(earliest)) ? wordStart(text, earliest) : end;
  let word = Math.min(unspaced, end);
  for (let at = earliest; at < end && (at <= soon || at < word); at += 1) {
    const beginning = beginningAt(text, at, '');
    if (beginning >= Beginning.sentence && at <= soon) return at;
    if (beginning > Beginning.none && at < word) word = at;
  }
  if (word < end) return word;
  const isCutWord = !isBlank(text.charCodeAt(end - 1)) || isUnspaced(text.charCodeAt(earliest));
  return isCutWord ? Math.min(characterStart(text, earliest), end) : end;
}

/**
 * The top-level parts of a program text: imports, functions, classes, each with the comments and decorators right
 * above it. Found by layout alone, which serves languages of braces, of indentation and of `end` alike: a part begins
 * at a line without indentation that follows a blank line, an indented line or a closing one. A text without such a
 * layout is divided at its blank lines, or not at all.
 */
export function codeBlocks(text: string): Block[] {
  const starts = [0];
  let aboveEnds = false;
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const end = feed === -1 ? text.length : feed;
    if (isLineBlank(text, at, end)) {
      aboveEnds = true;
    } else {
      const outermost = !isBlank(text.charCodeAt(at));
      const continued = outermost && continuesAbove(text, at);
      if (at > 0 && aboveEnds && outermost && !continued) starts.push(at);
      aboveEnds = !outermost || continued;
    }
    at = end + 1;
  }
  return starts.map((start, index) => ({
    type: 'lines',
    start,
    end: starts[index + 1] ?? text.length,
  }));
}

function isLineBlank(text: string, start: number, end: number): boolean {
  let at = start;
  while (at < end && isBlank(text.charCodeAt(at))) at += 1;
  return at === end;
}

/** A line that starts with one of these belongs to what is above it. */
const CONTINUATION =
  /^(?:[})\]{;,]|\*\/|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|fi|done|esac)\b)/;

/** Whether the text at the start of a line only ends or continues the line above. */
function continuesAbove(text: string, at: number): boolean {
  return CONTINUATION.test(text.slice(at, at + 8));
}

/** Indentation beyond this makes a place no worse. */
const DEEPEST = 60;
/** Cost of a missing blank line, and of a line that continues the one above it, in columns of indentation. */
const UNBROKEN = 100;
const CONTINUED = 200;

/**
 * Cut of code that exceeds the limit: before the least indented line behind `early` that follows a blank line, else
 * before the least indented line; the last of equals. A line longer than the limit is cut as prose.
 */
export function linesCut(text: string, range: CutRange): number {
  const early = Math.max(range.early, range.from);
  let lowest = Infinity;
  let cut = early;
  for (let at = afterBlanks(text, range.limit); at > early; at -= 1) {
    if (text[at - 1] !== '\n') continue;
    const cost = costOf(text, at);
    if (cost >= lowest) continue;
    lowest = cost;
    cut = at;
  }
  return cut > early ? cut : proseCut(text, range, '');
}

function costOf(text: string, at: number): number {
  let first = at;
  while (text[first] === ' ' || text[first] === '\t') first += 1;
  if (first >= text.length || text[first] === '\n') return Infinity;
  const indent = Math.min(first - at, DEEPEST);
  const continued = continuesAbove(text, first) ? CONTINUED : 0;
  return indent + continued + (followsBlankLine(text, at) ? 0 : UNBROKEN);
}

/** Whether the line above the one at `at` is blank; false for the first line. */
function followsBlankLine(text: string, at: number): boolean {
  let above = at - 2;
  while (above >= 0 && text[above] !== '\n' && isBlank(text.charCodeAt(above))) above -= 1;
  return at < 2 || text[above] === '\n' || above < 0;
}
