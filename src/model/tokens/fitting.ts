import type { TokenCounter } from './token-counter.js';

/** The size of a text. */
export interface TextSize {
  readonly characters: number;
  readonly tokens: number;
}

/** Share of the text by which a cut may lie before the last position that fits. */
const PRECISION = 0.01;
/** The share of a beginning in which a word is looked for that ends it. */
const LAST_WORD = 0.2;

export function sizeOf(text: string, counter: TokenCounter): TextSize {
  return { characters: text.length, tokens: counter.count(text) };
}

export function fits(size: TextSize, limit: TextSize): boolean {
  return size.characters <= limit.characters && size.tokens <= limit.tokens;
}

/**
 * The longest beginning of a text that fits, accurate to about a hundredth, which ends with a word where possible; empty when
 * nothing fits. `written` is what is sent of a beginning: its tags, its escapes.
 */
export function longestBeginning(
  text: string,
  limit: TextSize,
  counter: TokenCounter,
  written: (beginning: string) => string = (beginning) => beginning,
): string {
  let shortest = 0;
  let longest = Math.min(text.length, limit.characters);
  if (longest <= 0) return '';
  const isFitting = (length: number): boolean => {
    const escaped = written(text.slice(0, length));
    // Counting takes longer than comparing the length.
    return escaped.length <= limit.characters && counter.count(escaped) <= limit.tokens;
  };
  while (longest - shortest > Math.max(1, shortest * PRECISION)) {
    const middle = shortest + Math.ceil((longest - shortest) / 2);
    if (isFitting(middle)) shortest = middle;
    else longest = middle;
  }
  const isOneMore = longest > shortest && isFitting(longest);
  return wholeWords(text, isOneMore ? longest : shortest);
}

function wholeWords(text: string, length: number): string {
  if (length === text.length) return text;
  const beginning = text.slice(0, length);
  const earliest = Math.floor(length * (1 - LAST_WORD));
  const blank = /\s/.test(text[length] ?? '') ? length : beginning.search(/\s\S*$/);
  const whole = blank > earliest ? beginning.slice(0, blank) : beginning;
  return whole.replace(/[\ud800-\udbff]$/, '').trimEnd();
}
