/**
 * Kinds of UTF-16 code units, by what the vocabularies of language models know of their scripts. Vocabularies differ most
 * in the scripts that few of their texts were written in.
 */
const Kind = {
  /** Latin without diacritics. */
  letter: 0,
  /** Latin with diacritics. */
  accented: 1,
  digit: 2,
  mark: 3,
  blank: 4,
  lineEnd: 5,
  /** Dashes, quotation marks, currencies, arrows and the like. */
  symbol: 6,
  cyrillic: 7,
  greek: 8,
  /** Arabic and Hebrew. */
  semitic: 9,
  /** The scripts of India, Thailand and Laos. */
  indic: 10,
  kana: 11,
  han: 12,
  hangul: 13,
  /** A surrogate, half of a character such as an emoji. */
  surrogate: 14,
  /** Other scripts of two bytes a character, such as Armenian, and Georgian. */
  rare: 15,
  /** Other scripts of three bytes a character, such as Burmese and Amharic. */
  rarest: 16,
} as const;
type Kind = (typeof Kind)[keyof typeof Kind];

/** The last code unit of each kind, in their order. */
const RANGES: readonly (readonly [last: number, kind: Kind])[] = [
  [0x09, Kind.blank],
  [0x0a, Kind.lineEnd],
  [0x0c, Kind.blank],
  [0x0d, Kind.lineEnd],
  [0x20, Kind.blank],
  [0x2f, Kind.mark],
  [0x39, Kind.digit],
  [0x40, Kind.mark],
  [0x5a, Kind.letter],
  [0x60, Kind.mark],
  [0x7a, Kind.letter],
  [0x7f, Kind.mark],
  [0xbf, Kind.symbol],
  [0x24f, Kind.accented],
  [0x2ff, Kind.rare],
  [0x36f, Kind.accented],
  [0x3ff, Kind.greek],
  [0x52f, Kind.cyrillic],
  [0x58f, Kind.rare],
  [0x6ff, Kind.semitic],
  [0x74f, Kind.rare],
  [0x77f, Kind.semitic],
  [0x8ff, Kind.rare],
  [0xeff, Kind.indic],
  [0x109f, Kind.rarest],
  [0x10ff, Kind.rare],
  [0x1dff, Kind.rarest],
  [0x1eff, Kind.accented],
  [0x1fff, Kind.rarest],
  [0x2dff, Kind.symbol],
  [0x2fff, Kind.han],
  [0x30ff, Kind.kana],
  [0x9fff, Kind.han],
  [0xabff, Kind.rarest],
  [0xd7af, Kind.hangul],
  [0xdfff, Kind.surrogate],
  [0xf8ff, Kind.rarest],
  [0xfaff, Kind.han],
  [0xfeff, Kind.rarest],
  [0xffef, Kind.kana],
  [0xffff, Kind.rarest],
];

/** Tokens of one code unit, where those around it make no difference. */
const COSTS = new Float64Array(Kind.rarest + 1);
COSTS[Kind.symbol] = 1.5;
COSTS[Kind.cyrillic] = 0.69;
COSTS[Kind.greek] = 1.08;
COSTS[Kind.semitic] = 1.22;
COSTS[Kind.indic] = 1.52;
COSTS[Kind.kana] = 1.15;
COSTS[Kind.han] = 1.6;
COSTS[Kind.hangul] = 1.3;
COSTS[Kind.surrogate] = 1.6;
COSTS[Kind.rare] = 2.4;
COSTS[Kind.rarest] = 3;

/** A word is a token; letters behind the first few add parts of others. */
const FIRST_LETTERS = 4;
const LETTER = 0.25;
const WORD_BEHIND_DIGIT = 1.2;
const LONG_WORD = 12;
const LETTER_OF_LONG_WORD = 0.4;
const DIACRITIC = 1;
/** Capitals within words, as in `camelCase` and random letters. */
const LAST_CAPITAL = 0x5a;
const CAPITAL = 0.75;
const CAPITAL_AGAIN = 0.25;
const SMALL_AFTER_CAPITALS = 0.5;
/** Digits are split into groups of three. */
const DIGITS = 3;
const NUMBER = 1.03;
const MARK = 0.92;
/** The weight of a mark behind a digit. */
const MARK_IN_NUMBER = 1;
const MARK_AGAIN = 0.56;
const LINE_END = 0.9;
const LINE_END_AFTER_MARK = 0.4;

/** Prose with fewer of these words is of another language, which costs more than English. */
const ENGLISH = new Set(['the', 'of', 'and', 'to', 'in', 'is'].map(wordCode));
const MAX_ENGLISH_CHARS = 3;
/** The code of a word that is none of the words above. */
const NO_CODE = -1;
const ENGLISH_SHARE = 0.08;
/** Code has more marks for each word. */
const PROSE_MARKS = 0.5;
const FOREIGN_WORD = 0.25;
const FOREIGN_LETTER = 0.1;

const KINDS = kindsOfUnits();

/**
 * Tokens of a text for a model whose vocabulary is not known, by the scripts in it. For texts of some sentences it is at
 * least what `cl100k_base` and `o200k_base` count, and at most 1.6 times the larger of the two. One pass over the text.
 */
export function tokensByScript(text: string): number {
  const estimate = new Estimate();
  for (let at = 0; at < text.length; at += 1) estimate.add(text.charCodeAt(at));
  return estimate.end();
}

class Estimate {
  private tokens = 0;
  private last: Kind = Kind.lineEnd;
  /** Length of the run of one kind. */
  private run = 0;
  private words = 0;
  private letters = 0;
  private marks = 0;
  private english = 0;
  /** State of the current word: its letters, the last of them that are capitals, and the code of a short one. */
  private word = 0;
  private capitals = 0;
  private code = 0;

  add(unit: number): void {
    const kind = (KINDS[unit] ?? Kind.rarest) as Kind;
    this.run = kind === this.last ? this.run + 1 : 1;
    if (kind === Kind.letter || kind === Kind.accented) this.addLetter(unit, kind);
    else {
      this.endWord();
      this.tokens += this.costBetweenWords(kind);
    }
    this.last = kind;
  }

  end(): number {
    this.endWord();
    const isProse = this.marks < this.words * PROSE_MARKS;
    if (isProse && this.english < this.words * ENGLISH_SHARE) {
      this.tokens += this.words * FOREIGN_WORD + this.letters * FOREIGN_LETTER;
    }
    return Math.ceil(this.tokens);
  }

  private addLetter(unit: number, kind: Kind): void {
    this.word += 1;
    this.letters += 1;
    this.code = this.word > MAX_ENGLISH_CHARS ? NO_CODE : this.code * 32 + (unit & 31);
    if (this.word === 1) {
      this.words += 1;
      if (kind === Kind.letter) this.tokens += this.last === Kind.digit ? WORD_BEHIND_DIGIT : 1;
    }
    if (kind === Kind.accented) {
      this.tokens += DIACRITIC;
      this.code = NO_CODE;
    } else if (this.word > LONG_WORD) this.tokens += LETTER_OF_LONG_WORD;
    else if (this.word > FIRST_LETTERS) this.tokens += LETTER;
    if (unit <= LAST_CAPITAL) {
      if (this.word > 1) this.tokens += this.capitals > 0 ? CAPITAL_AGAIN : CAPITAL;
      this.capitals += 1;
    } else {
      if (this.capitals > 1) this.tokens += SMALL_AFTER_CAPITALS;
      this.capitals = 0;
    }
  }

  private endWord(): void {
    if (this.word === 0) return;
    if (ENGLISH.has(this.code)) this.english += 1;
    this.word = 0;
    this.capitals = 0;
    this.code = 0;
  }

  private costBetweenWords(kind: Kind): number {
    const { last, run } = this;
    switch (kind) {
      case Kind.mark:
        this.marks += 1;
        if (run > 1) return MARK_AGAIN;
        return last === Kind.digit ? MARK_IN_NUMBER : MARK;
      case Kind.digit:
        if (run % DIGITS !== 1) return 0;
        // A blank before a number is a token of its own.
        return last === Kind.blank && run === 1 ? 2 : NUMBER;
      case Kind.lineEnd:
        if (run > 1) return 0;
        return last === Kind.mark || last === Kind.blank ? LINE_END_AFTER_MARK : LINE_END;
      case Kind.blank:
        return run === 2 ? 1 : 0;
      default:
        return COSTS[kind] ?? 0;
    }
  }
}

function wordCode(word: string): number {
  return [...word].reduce((code, letter) => code * 32 + (letter.charCodeAt(0) & 31), 0);
}

function kindsOfUnits(): Uint8Array {
  const kinds = new Uint8Array(0x1_0000);
  let from = 0;
  for (const [last, kind] of RANGES) {
    kinds.fill(kind, from, last + 1);
    from = last + 1;
  }
  return kinds;
}
