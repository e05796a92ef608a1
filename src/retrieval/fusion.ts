/** Places of a fragment in the two channels, from 1; absent where a channel did not find it. */
export interface ChannelRanks {
  readonly vectorRank?: number | undefined;
  readonly keywordRank?: number | undefined;
}

/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const K = 60;

/** The specification shows the fused value times this, so that it lies in 0 to 0.984. */
const DISPLAY = 60;

/**
 * Weighted reciprocal rank fusion as the specification displays it: 60 × ((1 − alpha) / (60 + vector rank) + alpha /
 * (60 + keyword rank)); a channel that did not find the fragment adds nothing. Higher alpha favours keywords.
 */
export function fusedScore({ vectorRank, keywordRank }: ChannelRanks, alpha: number): number {
  const vector = vectorRank === undefined ? 0 : (1 - alpha) / (K + vectorRank);
  const keyword = keywordRank === undefined ? 0 : alpha / (K + keywordRank);
  return DISPLAY * (vector + keyword);
}
