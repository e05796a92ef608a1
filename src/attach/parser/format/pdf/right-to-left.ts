/** A piece of a line with its place, which is written in one direction; or a space between two of them. */
export interface Unit {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** Hebrew, Arabic, Syriac, Thaana, NKo and their presentation forms. */
const RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const MARK = /^\p{M}+$/u;
const LETTER = /\p{L}/u;
const DIGIT = /^[\p{Nd}%]+$/u;

const OPENING = '([{<«';
const CLOSING = ')]}>»';

type Direction = 'left' | 'right' | 'number' | 'neutral';

export function isRightToLeft(text: string): boolean {
  return RIGHT.test(text);
}

/** Number of letters written from right to left, and from left to right. */
export function lettersOf(texts: Iterable<string>): {
  readonly right: number;
  readonly left: number;
} {
  let right = 0;
  let left = 0;
  for (const text of texts) {
    for (const [letter] of text.matchAll(/\p{L}/gu)) {
      if (RIGHT.test(letter)) right += 1;
      else left += 1;
    }
  }
  return { right, left };
}

export function isMostlyRightToLeft(texts: readonly string[]): boolean {
  if (!texts.some(isRightToLeft)) return false;
  const { right, left } = lettersOf(texts);
  return right > left;
}

/**
 * The text of a line in the order in which it is read, from its units as they stand from left to right. A unit of
 * several characters (a ligature) keeps their order. Numbers and words of the other direction keep theirs.
 */
export function inReadingOrder(units: readonly Unit[], rightToLeft: boolean): string {
  const visual = withMarks(units.flatMap(characters));
  const directions = resolved(
    visual.map(({ text }) => directionOf(text)),
    rightToLeft,
  );
  const order = visual.map((_, index) => index);
  if (rightToLeft) {
    order.reverse();
    reverseRuns(order, (index) => directions[index] === 'left' || directions[index] === 'number');
  } else {
    reverseRuns(order, (index) => directions[index] === 'right' || directions[index] === 'number');
    reverseRuns(order, (index) => directions[index] === 'number');
  }
  const facing = order.map((index) => ({
    text: visual[index]?.text ?? '',
    right: directions[index] === 'right',
  }));
  return withBrackets(facing)
    .replace(PRESENTATION, (forms) => forms.normalize('NFKC').trim())
    .normalize('NFC')
    .replace(/ {2,}/g, ' ')
    .trim();
}

const PRESENTATION = /[\ufb1d-\ufdff\ufe70-\ufefc]+/g;

/** The characters of a unit that is written from left to right, since marks at its ends may belong to what is beside. */
function characters(unit: Unit): Unit[] {
  if (RIGHT.test(unit.text)) return [unit];
  const parts = Array.from(unit.text);
  const width = (unit.right - unit.left) / parts.length;
  return parts.map((text, index) => ({
    text,
    left: unit.left + index * width,
    right: unit.left + (index + 1) * width,
  }));
}

/** Accents and vowel marks behind the letter that they are written over. */
function withMarks(units: readonly Unit[]): Unit[] {
  const letters = units.filter(({ text }) => !MARK.test(text)).map((unit) => ({ ...unit }));
  for (const mark of units) {
    if (!MARK.test(mark.text)) continue;
    const middle = (mark.left + mark.right) / 2;
    let nearest: { text: string; left: number; right: number } | undefined;
    let distance = Infinity;
    for (const letter of letters) {
      if (letter.text === ' ') continue;
      const apart = Math.max(letter.left - middle, middle - letter.right, 0);
      if (apart > distance) continue;
      nearest = letter;
      distance = apart;
    }
    if (nearest) nearest.text += mark.text;
    else letters.push({ ...mark });
  }
  return letters;
}

function directionOf(text: string): Direction {
  if (DIGIT.test(text)) return 'number';
  if (RIGHT.test(text)) return 'right';
  return LETTER.test(text) ? 'left' : 'neutral';
}

/** Neutral characters are part of what is on both of their sides, else of the line. Both read from left to right. */
function resolved(letterDirections: readonly Direction[], rightToLeft: boolean): Direction[] {
  const base: Direction = rightToLeft ? 'right' : 'left';
  const directions = withNumbers(letterDirections, base);
  for (let index = 0; index < directions.length; index += 1) {
    if (directions[index] !== 'neutral') continue;
    let end = index;
    while (directions[end] === 'neutral') end += 1;
    const before = directions[index - 1] ?? base;
    const after = directions[end] ?? base;
    directions.fill(before === after ? before : base, index, end);
    index = end;
  }
  return directions;
}

/** A number is part of the left-to-right text before it, and of a left-to-right line unless Arabic surrounds it. */
function withNumbers(letterDirections: readonly Direction[], base: Direction): Direction[] {
  let last = base;
  return letterDirections.map((direction, index) => {
    if (direction === 'left' || direction === 'right') last = direction;
    if (direction !== 'number') return direction;
    if (base === 'right') return last === 'left' ? 'left' : 'number';
    const next = letterDirections
      .slice(index)
      .find((other) => other === 'left' || other === 'right');
    return last === 'right' && next === 'right' ? 'number' : 'left';
  });
}

/** Reverses each run of items that follow each other, in their place. */
export function reverseRuns<T>(items: T[], inRun: (item: T) => boolean): void {
  for (let start = 0; start < items.length; start += 1) {
    let end = start;
    for (let next = items[end]; next !== undefined && inRun(next); next = items[end]) end += 1;
    if (end > start + 1) items.splice(start, end - start, ...items.slice(start, end).reverse());
    start = Math.max(end, start);
  }
}

/**
 * Some files name a bracket by its shape, which is the other one in right-to-left text, some by its meaning. The first
 * one tells: text does not begin by closing a bracket.
 */
function withBrackets(
  parts: readonly { readonly text: string; readonly right: boolean }[],
): string {
  const first = parts.find(({ text, right }) => right && (OPENING + CLOSING).includes(text));
  if (first === undefined || OPENING.includes(first.text)) {
    return parts.map(({ text }) => text).join('');
  }
  return parts.map(({ text, right }) => (right ? mirrored(text) : text)).join('');
}

function mirrored(text: string): string {
  const opening = OPENING.indexOf(text);
  if (opening >= 0) return CLOSING[opening] ?? text;
  const closing = CLOSING.indexOf(text);
  return closing >= 0 ? (OPENING[closing] ?? text) : text;
}
