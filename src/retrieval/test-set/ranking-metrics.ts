/**
 * Metrics of one ranking for one query, each from 0 to 1. `gains` has the relevance at each rank, 0 for irrelevant
 * results; `relevant` the relevance of all expected results, in any order, at least one.
 */
export interface JudgedRanking {
  readonly gains: readonly number[];
  readonly relevant: readonly number[];
}

/**
 * Normalised discounted cumulative gain at k, as trec_eval's `ndcg_cut` and BEIR compute it: the gain
 * is the relevance itself, the discount log2(place + 1), the ideal is the best order of everything relevant.
 */
export function ndcg({ gains, relevant }: JudgedRanking, k: number): number {
  const ideal = discounted([...relevant].sort((a, b) => b - a).slice(0, k));
  return ideal === 0 ? 0 : discounted(gains.slice(0, k)) / ideal;
}

/** The share of the relevant results within the first k. */
export function recall({ gains, relevant }: JudgedRanking, k: number): number {
  const found = gains.slice(0, k).filter((gain) => gain > 0).length;
  return relevant.length === 0 ? 0 : found / relevant.length;
}

/** 1 divided by the rank of the first relevant result; 0 when there is none within the first k. */
export function reciprocalRank({ gains }: JudgedRanking, k: number): number {
  const first = gains.slice(0, k).findIndex((gain) => gain > 0);
  return first === -1 ? 0 : 1 / (first + 1);
}

/** 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0);
}
