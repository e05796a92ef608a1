/** Classes of a code unit for splitting, as bits. */
export const CharacterClass = {
  blank: 1,
  /** Ends a sentence where a blank follows, as those of abbreviations and numbers do not. */
  spacedMark: 2,
  /** Ends a sentence wherever it stands. */
  plainMark: 4,
  /** May stand between the end of a sentence and the next one. */
  closer: 8,
  /** Text without blanks may be cut after it. */
  pause: 16,
} as const;

/** Classes by code unit: the lookup is needed several times for every character of a document. */
const classes = new Uint8Array(0x10000);

function classify(characters: string, bit: number): void {
  for (const character of characters) {
    const code = character.charCodeAt(0);
    classes[code] = (classes[code] ?? 0) | bit;
  }
}

classify('.!?…؟۔։።', CharacterClass.spacedMark);
classify('。！？｡．।॥။។', CharacterClass.plainMark);
classify('"\')]}»”’」』）】》〉］', CharacterClass.closer);
classify('，、；：,;', CharacterClass.pause);
for (let code = 0; code < classes.length; code += 1) {
  const character = String.fromCharCode(code);
  if (character.trim() === '') classify(character, CharacterClass.blank);
}

/** The bits of a code unit; none behind the end of a text, where it is NaN. */
export function classOf(code: number): number {
  return classes[code] ?? 0;
}

/** Whether a code unit is white space as `trim` understands it. */
export function isBlank(code: number): boolean {
  return (classOf(code) & CharacterClass.blank) !== 0;
}

/** Whether words of the script of this code unit follow each other without blanks: Chinese, Japanese, Thai and kin. */
export function isUnspaced(code: number): boolean {
  if (code < 0x0e00) return false;
  if (code < 0x1000) return code <= 0x0eff;
  if (code < 0x1100) return code <= 0x109f;
  if (code < 0x2e80) return code >= 0x1780 && code <= 0x17ff;
  return code <= 0x9fff || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xd840 && code <= 0xd888);
}

/** Code units that are a whole character wherever they stand, so that a cut beside another such one is safe. */
function isPlain(code: number): boolean {
  if (code < 0x300) return code !== 0x0d && code !== 0xa9 && code !== 0xae && code !== 0xad;
  if (code >= 0xac00) return code <= 0xd7a3;
  return (code >= 0x3400 && code <= 0x9fff) || (code >= 0x3041 && code <= 0x3096);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Characters around an offset that are enough to determine the grapheme or word at it. */
const REACH = 48;

/**
 * The last place up to `at` and behind `from` that is between two characters as a reader sees them. Where there is
 * none, a place that is at least not inside a surrogate pair; when even that is none, `from` and one character.
 */
export function characterCut(text: string, from: number, at: number): number {
  if (at >= text.length) return text.length;
  if (isPlain(text.charCodeAt(at - 1)) && isPlain(text.charCodeAt(at)) && at > from) return at;
  const cut = segmentBoundary(graphemes, text, { from, at });
  if (cut > from) return cut;
  const whole = isPairAt(text, at - 1) ? at - 1 : at;
  if (whole > from) return whole;
  return from + (isPairAt(text, from) ? 2 : 1);
}

/** The last place up to `at` and behind `from` between two words of a script without blanks; `from` if there is none. */
export function wordCut(text: string, from: number, at: number): number {
  if (!isUnspaced(text.charCodeAt(at - 1)) || !isUnspaced(text.charCodeAt(at))) return from;
  return segmentBoundary(words, text, { from, at });
}

function isPairAt(text: string, index: number): boolean {
  const code = text.codePointAt(index);
  return code !== undefined && code > 0xffff;
}

/** `at`, or the end of the character that lies around it. */
export function characterStart(text: string, at: number): number {
  if (isPlain(text.charCodeAt(at - 1)) && isPlain(text.charCodeAt(at))) return at;
  return segmentEnd(graphemes, text, at);
}

/** `at`, or the end of the word that lies around it, in a script without blanks. */
export function wordStart(text: string, at: number): number {
  return segmentEnd(words, text, at);
}

function segmentEnd(segmenter: Intl.Segmenter, text: string, at: number): number {
  const start = startOfSight(text, at);
  const grapheme = segmenter.segment(text.slice(start, at + REACH)).containing(at - start);
  if (!grapheme || start + grapheme.index === at) return at;
  return start + grapheme.index + grapheme.segment.length;
}

interface Search {
  readonly from: number;
  readonly at: number;
}

function segmentBoundary(segmenter: Intl.Segmenter, text: string, { from, at }: Search): number {
  const start = startOfSight(text, at);
  const grapheme = segmenter.segment(text.slice(start, at + REACH)).containing(at - start);
  const cut = grapheme ? start + grapheme.index : at;
  return cut > from && (cut > start || cut === at) ? cut : from;
}

function startOfSight(text: string, at: number): number {
  const start = Math.max(0, at - REACH);
  return isPairAt(text, start - 1) ? start + 1 : start;
}
