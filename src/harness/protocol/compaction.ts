/**
 * How much of the run's conversation is no longer sent to the model whole; the messages themselves stay. Numbers are
 * sequences of messages. What is sent follows from it and the messages alone, so that whoever takes the run up later
 * sends the same.
 */
export interface Compaction {
  /** Outputs of tool calls up to this message sequence are replaced by a pointer. */
  readonly prunedThrough: number;
  /** Messages up to this sequence, with the results of their calls, are replaced by the summary. */
  readonly summarisedThrough: number;
  readonly summary: string;
  /** The newest message when this was decided: what the model service counted before is about another context. */
  readonly madeAfter: number;
  /** Counted tokens for each that was estimated, as far as was known then. */
  readonly ratio: number;
}

export const NOT_COMPACTED: Compaction = {
  prunedThrough: 0,
  summarisedThrough: 0,
  summary: '',
  madeAfter: 0,
  ratio: 1,
};
