/** Ends a sentence: CJK marks anywhere, Latin ones before a space, and every line break. */
const SENTENCE_END = /(?<=[。！？；])|(?<=[.!?])\s+|\n+/u;
/** A blank line, and the start of a numbered passage. */
const PARAGRAPH_END = /\n\s*\n|\n(?=\s*\[\d+\])/;
const MAX_QUOTE_CHARS = 240;

export function sentencesOf(text: string): string[] {
  return text
    .split(SENTENCE_END)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

export function paragraphsOf(text: string): string[] {
  return text
    .split(PARAGRAPH_END)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
}

/** The text on one line, shortened when it is too long to quote. */
export function quotable(text: string): string {
  const characters = [...text.replace(/\s+/g, ' ').trim()];
  if (characters.length <= MAX_QUOTE_CHARS) return characters.join('');
  return `${characters.slice(0, MAX_QUOTE_CHARS).join('')}…`;
}
