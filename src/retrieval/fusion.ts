/** Ranks of a fragment in the two channels, from 1; absent if a channel did not find it. */
export interface ChannelRanks {
  readonly vectorRank?: number | undefined;
  readonly keywordRank?: number | undefined;
}

/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const K = 60;

/** Factor of the displayed score, which lies in 0 to 0.984 (docs/WIRE.md, Retrieval). */
const DISPLAY = 60;

/**
 * Weighted reciprocal rank fusion as displayed: 60 × ((1 − alpha) / (60 + vector rank) + alpha /
 * (60 + keyword rank)); a channel that did not find the fragment adds nothing. Higher alpha favours keywords.
 */
export function fusedScore({ vectorRank, keywordRank }: ChannelRanks, alpha: number): number {
  const vector = vectorRank === undefined ? 0 : (1 - alpha) / (K + vectorRank);
  const keyword = keywordRank === undefined ? 0 : alpha / (K + keywordRank);
  return DISPLAY * (vector + keyword);
}
