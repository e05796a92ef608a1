export const INPUT_KINDS = ['STEER', 'FOLLOW_UP'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];

/** What a run may use up; 0 means without a limit of its own. Frozen when the run is created. */
export interface RunBudget {
  /** Turns of the model. */
  readonly maxIterations: number;
  readonly maxToolCalls: number;
  readonly maxInputTokens: number;
  readonly maxOutputTokens: number;
  /** Time in which the run was held by a process; waiting does not count. */
  readonly maxWallTimeMillis: number;
}

/** What a run that waits for an answer has asked. */
export interface PendingQuestion {
  readonly toolCallId: string;
  readonly text: string;
  readonly options: readonly string[];
}

/** CONTROL is the harness itself: it tells the model what happened. */
export type MessageRole = 'USER' | 'ASSISTANT' | 'TOOL' | 'CONTROL';

export interface MessageToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface MessageUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/**
 * How much of the run's conversation is no longer sent to the model whole; the messages themselves stay. Numbers are
 * sequences of messages. What is sent follows from it and the messages alone, so that a later owner of the run sends
 * the same.
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

/** What a model takes per million tokens, in the currency in which the operator wrote it down. Undefined: not said. */
export interface ModelPrices {
  readonly inputPrice?: number | undefined;
  readonly outputPrice?: number | undefined;
}

export interface CountedTokens {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

const TOKENS_OF_A_PRICE = 1_000_000;
const COST_DIGITS = 12;

/**
 * What the tokens cost, in the currency of the prices; undefined when a price or a count that it takes is not known,
 * because a sum without it would look like the whole. Tokens from the service's cache count in full: what it takes off
 * for them is not written down.
 */
export function costOf(
  { inputTokens, outputTokens }: CountedTokens,
  { inputPrice, outputPrice }: ModelPrices,
): number | undefined {
  const read = share(inputTokens, inputPrice);
  const written = share(outputTokens, outputPrice);
  return read === undefined || written === undefined ? undefined : totalCost(read, written);
}

/** The sum without what binary fractions add to it: 0.1 and 0.2 are 0.3. */
export function totalCost(one: number, other: number): number {
  return Number((one + other).toPrecision(COST_DIGITS));
}

function share(tokens: number | undefined, price: number | undefined): number | undefined {
  if (price === undefined) return undefined;
  if (price === 0 || tokens === 0) return 0;
  return tokens === undefined ? undefined : (tokens * price) / TOKENS_OF_A_PRICE;
}
