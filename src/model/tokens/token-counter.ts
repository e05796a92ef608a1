import { tokensByScript } from './estimate.js';

/** Counts the tokens of texts in the window of a model. */
export interface TokenCounter {
  /** Whether the vocabulary of the model is known; otherwise the count is an estimate that is hardly ever too low. */
  readonly isExact: boolean;
  /** Counts a text as data: what looks like a control token counts as its characters. */
  count(text: string): number;
}

/** The counter for unknown vocabularies, and where no text has to fit exactly. */
export const estimatingCounter: TokenCounter = { isExact: false, count: tokensByScript };

type Vocabulary = 'o200k_base' | 'cl100k_base';

interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number;
  setMergeCacheSize(size: number): void;
}

/** Newer models first: `gpt-4` is also the beginning of names with another vocabulary. */
const VOCABULARIES: readonly (readonly [names: RegExp, vocabulary: Vocabulary])[] = [
  [/^(gpt-(4o|4\.[1-9]|[5-9]|oss|audio|realtime)|chatgpt-|chat-latest|o[1-9](-|$))/, 'o200k_base'],
  [/^gpt-(4|3\.5)(-|$)/, 'cl100k_base'],
];

const load: Readonly<Record<Vocabulary, () => Promise<Encoding>>> = {
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
};

/** Words whose parts the tokenizer keeps, instead of its 100,000. */
const CACHED_WORDS = 10_000;

const counters = new Map<Vocabulary, Promise<TokenCounter>>();

/** The vocabulary of a model by its name, such as `gpt-4o-mini`, `openai/gpt-5` or `ft:gpt-4o:acme`. */
export function vocabularyOf(modelName: string): Vocabulary | undefined {
  const name = modelName.toLowerCase().replace(/^.*\//, '').replace(/^ft:/, '');
  return VOCABULARIES.find(([names]) => names.test(name))?.[1];
}

/**
 * The counter for a model. The first call for a vocabulary loads it (half a second, some 40 to 75 MB of memory); without
 * such a model it is never loaded.
 */
export async function tokenCounter(modelName: string): Promise<TokenCounter> {
  const vocabulary = vocabularyOf(modelName);
  if (vocabulary === undefined) return estimatingCounter;
  let counter = counters.get(vocabulary);
  if (!counter) {
    counter = load[vocabulary]().then(countingBy);
    counters.set(vocabulary, counter);
    // A failed import may succeed the next time.
    counter.catch(() => counters.delete(vocabulary));
  }
  return counter;
}

function countingBy(encoding: Encoding): TokenCounter {
  encoding.setMergeCacheSize(CACHED_WORDS);
  const options = { disallowedSpecial: new Set<string>() };
  const count = (text: string): number => {
    let tokens = 0;
    for (let at = 0; at < text.length;) {
      const end = pieceEnd(text, at);
      tokens += encoding.countTokens(text.slice(at, end), options);
      at = end;
    }
    return tokens;
  };
  return { isExact: true, count };
}

/** Code units of one piece that is counted at once. */
const PIECE = 4_000;
/** Code units of a piece without a place to cut. The tokenizer takes time that grows with the square of them. */
const UNBROKEN_PIECE = 400;

/**
 * The end of the piece that begins at `from`: where no token reaches across, or in the midst of a long run without such a
 * place, which then counts a token too many at most.
 */
function pieceEnd(text: string, from: number): number {
  if (text.length - from <= UNBROKEN_PIECE) return text.length;
  let end = Math.min(from + UNBROKEN_PIECE, text.length);
  let scanned = from;
  for (let at = from + 1; at < Math.min(from + PIECE, text.length - 1); at += 1) {
    if (isBoundary(text, at)) {
      scanned = at;
      end = at;
    } else if (at - scanned >= UNBROKEN_PIECE) break;
  }
  if (scanned === from) end = from + UNBROKEN_PIECE;
  return isLowSurrogate(text, end) ? end - 1 : end;
}

/** Whether every vocabulary begins a token here: before the blank of a word, and before a mark behind a letter or a digit. */
function isBoundary(text: string, at: number): boolean {
  if (text[at] === ' ') return text[at - 1] !== ' ' && /\p{L}/u.test(text[at + 1] ?? '');
  return /[!-&(-/:-@[-`{-~]/.test(text[at] ?? '') && /[\p{L}\p{N}]/u.test(text[at - 1] ?? '');
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
