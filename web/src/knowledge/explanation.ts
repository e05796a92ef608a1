import type { RetrievedFragmentView } from '@plinth/client';

/** The `explain` field of a retrieved fragment (docs/API.md, POST /system/fragment/retrieval). */
export interface Explanation {
  readonly vector: { readonly rank: number; readonly score: number } | null;
  readonly keyword: {
    readonly rank: number;
    readonly score: number;
    /** Matching words as they appear in the question. */
    readonly terms: readonly string[];
    /** Matching words as they appear in the fragment. */
    readonly words: readonly string[];
  } | null;
  readonly fusion: { readonly rank: number; readonly score: number; readonly alpha: number } | null;
  readonly rerank: { readonly rank: number; readonly score: number } | null;
  readonly dropped: string | null;
}

export interface ChannelReport {
  readonly hits: number;
  readonly milliseconds: number;
  readonly failure?: string;
  readonly incomplete?: boolean;
}

const NONE: Explanation = {
  vector: null,
  keyword: null,
  fusion: null,
  rerank: null,
  dropped: null,
};

export function explanationOf({ explain }: Pick<RetrievedFragmentView, 'explain'>): Explanation {
  return (explain as Explanation | undefined) ?? NONE;
}

/** Maximum sum of weighted ranks: 60 × 1 / 61. */
export const MAX_FUSED_SCORE = 60 / 61;

/** Reasons from the service and their text keys. */
const REASONS = [
  [/^beyond the first (\d+)$/, 'beyond'],
  [/^similarity below the threshold ([\d.e-]+)$/, 'similarity'],
  [/^rerank score below the threshold ([\d.e-]+)$/, 'rerankScore'],
  [/^left out by the rerank model$/, 'leftOut'],
] as const;

export type DropReason = (typeof REASONS)[number][1];

/** Returns the text key and the number of a reason; undefined for an unknown reason. */
export function reasonOf(dropped: string): { reason: DropReason; limit: string } | undefined {
  for (const [form, reason] of REASONS) {
    const match = form.exec(dropped);
    if (match) return { reason, limit: match[1] ?? '' };
  }
  return undefined;
}

export interface Piece {
  readonly text: string;
  readonly matched: boolean;
}

/** Splits the text into pieces and marks the given words. Words of scripts without spaces match anywhere. */
export function piecesOf(text: string, words: readonly string[]): readonly Piece[] {
  if (words.length === 0) return [{ text, matched: false }];
  const forms = [...words]
    .sort((a, b) => b.length - a.length)
    .map((word) => {
      const escaped = word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
      return /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(
        word,
      )
        ? escaped
        : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}\\p{M}])`;
    });
  const parts = text.split(new RegExp(`(${forms.join('|')})`, 'giu'));
  return parts
    .map((part, place) => ({ text: part, matched: place % 2 === 1 }))
    .filter(({ text: part }) => part !== '');
}

/** Maximum number of characters before the first match in a short view of the text. */
const MAX_LEAD_CHARS = 160;

/** Returns the pieces from the line of the first match, or from the beginning if that is close enough. */
export function fromFirstMatch(pieces: readonly Piece[]): readonly Piece[] {
  const first = pieces.findIndex(({ matched }) => matched);
  const before = pieces
    .slice(0, Math.max(0, first))
    .map(({ text }) => text)
    .join('');
  if (before.length <= MAX_LEAD_CHARS && before.split('\n').length <= 3) return pieces;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const lead =
    line.length <= MAX_LEAD_CHARS ? line : line.slice(-MAX_LEAD_CHARS).replace(/^\S*\s/, '');
  return [{ text: `… ${lead}`, matched: false }, ...pieces.slice(first)];
}
