/** A word of a script that puts spaces between words. */
export interface Word {
  /** In lower case. */
  readonly text: string;
  /** Written in capitals alone, like IT or WHO: never a stop word. */
  readonly capitals: boolean;
}

/** What a text is made of, in no particular order. The same for fragments and for queries. */
export interface TextWords {
  readonly words: readonly Word[];
  /** Terms that are never stemmed: pieces of scripts without spaces, and dotted names as a whole. */
  readonly terms: readonly string[];
}

/** Longer words are cut: they are not typed, and an index entry has a limit. */
const LONGEST_TERM = 64;

// Scripts that are not split into words by spaces alone; Korean is, but glues its particles to the words.
const UNSPACED = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}\p{M}]]`;
const START = String.raw`[[\p{L}\p{N}]--${UNSPACED}]`;
const WORD = String.raw`${START}[[\p{L}\p{N}\p{M}]--${UNSPACED}]*`;

/**
 * What an apostrophe joins to a word and is none itself: l’ and qu’ before it, ’s, ’d, ’ll, ’ve and ’re behind it. Alone
 * they are rare and would weigh much.
 */
const CLITIC = String.raw`['’](?:\p{L}|ll|ve|re)(?![\p{L}\p{N}\p{M}'’])`;
const CLITICS = new RegExp(
  String.raw`(?<=\p{L})${CLITIC}|(?<![\p{L}\p{N}\p{M}])(?:\p{L}|qu)['’](?=\p{L}{2})`,
  'giv',
);

/** A run of an unspaced script, or a word with those that _ and . join to it. */
const PIECES = new RegExp(`(${UNSPACED}+)|${WORD}(?:(?:_+|\\.)${WORD})*`, 'gv');
const PARTS = /[._]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const ABBREVIATION = /^\p{L}(?:\.\p{L})+$/u;
const CAPITALS = /^\p{Lu}{2,}$/u;

// ICU breaks these scripts by dictionaries, whatever the locale is.
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/**
 * Splits a text into words: Unicode letters and digits after NFKC and in lower case. A name such as `user_name`,
 * `userName` or `config.port` gives its parts and itself, without underscores. Runs of Chinese, Japanese, Korean, Thai,
 * Lao, Khmer and Burmese give the words that ICU sees in them and all pairs of neighbouring characters.
 */
export function readWords(text: string): TextWords {
  const words: Word[] = [];
  const terms: string[] = [];
  const runs: string[] = [];
  // The soft hyphen stands within words and means nothing.
  const plain = text.normalize('NFKC').replaceAll('\u00ad', '').replaceAll(CLITICS, ' ');
  for (const [piece, run] of plain.matchAll(PIECES)) {
    if (run === undefined) readName(piece, words, terms);
    else runs.push(run);
  }
  // One call for all runs: the segmenter costs more to start than to run.
  if (runs.length > 0) readRuns(runs, terms);
  return { words, terms };
}

function readName(name: string, words: Word[], terms: string[]): void {
  const parts = name.split(PARTS).filter((part) => part !== '');
  // The letters of an abbreviation are no words: e.g. is none at all, U.S. is one as a whole.
  if (ABBREVIATION.test(name)) {
    if (name !== name.toLowerCase()) terms.push(cut(name.toLowerCase()));
    return;
  }
  for (const part of parts) words.push(toWord(part));
  if (parts.length === 1) return;
  if (!name.includes('.')) words.push(toWord(name.replaceAll('_', '')));
  else if (name.length <= LONGEST_TERM) terms.push(name.replaceAll('_', '').toLowerCase());
}

function toWord(written: string): Word {
  // The lower case of the Turkish capital with a dot is an i with a second dot.
  const text = cut(written.toLowerCase().replaceAll('i\u0307', 'i'));
  return { text, capitals: CAPITALS.test(written) };
}

function cut(term: string): string {
  // Never through the middle of a character.
  return term.length <= LONGEST_TERM ? term : term.slice(0, LONGEST_TERM).toWellFormed();
}

function readRuns(runs: readonly string[], terms: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(runs.join(' '))) {
    if (isWordLike) terms.push(cut(segment));
  }
  for (const run of runs) {
    let before = '';
    for (const character of run) {
      if (before !== '') terms.push(before + character);
      before = character;
    }
  }
}
