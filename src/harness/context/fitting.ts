import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { estimateTokens } from '../../model/index.js';
import type { ChatMessage } from '../../provider/index.js';
import type { Compaction } from '../protocol/run.values.js';
import type { CountedUsage } from './counted.usage.js';
import type { Unit } from './conversation.js';
import { isPrunable, render } from './rendering.js';
import type { ContextParts, Rendering } from './rendering.js';

/** What is sent at most of the window before anything is left out. */
const FULL = 0.75;
/** What is aimed at then, so that the next call does not compact again. */
const AIMED = 0.6;
/** Outputs of tools that stay, newest first: so many tokens, in small windows a share of them. */
const KEPT_OUTPUTS = 40_000;
const KEPT_OUTPUTS_SHARE = 0.3;
/** What stays behind a summary, newest first, as a share of the window. */
const KEPT_TAIL_SHARE = 0.25;
/** A summary of less is not worth a call of the model, as long as everything fits. */
const WORTH_SUMMARY = 0.1;
/** Counts of services and estimates differ by no more; what is beyond was counted of something else. */
const RATIOS = { least: 0.5, most: 4 } as const;

/** The conversation does not fit the model's window, although it was compacted. */
export class ContextOverflowError extends Error {
  override readonly name = 'ContextOverflowError';
  declare message: Message;

  constructor(tokens: number, limit: number) {
    super(
      msg`About ${tokens} tokens would have to be sent to the model, and its window takes ${limit}. Start a new run with a smaller task, fewer files at once or shorter skills, or with a model of a larger window.`,
    );
  }
}

export interface SummaryWish {
  /** What it is to stand for, beside the messages that the former one stands for. */
  readonly units: readonly Unit[];
  /** Empty when there is none yet. */
  readonly former: string;
}

export interface Summary {
  readonly text: string;
  readonly usage?: CountedUsage | undefined;
}

/** The service that was to write a summary is unavailable. */
export interface NoSummary {
  readonly failure: Error;
}

/** Writes a summary. After a failure the run continues without one if possible. */
export type Summarise = (wish: SummaryWish) => Promise<Summary | NoSummary>;

export interface Fit {
  readonly messages: readonly ChatMessage[];
  /** Estimated with what is known of the model's own count. */
  readonly tokens: number;
  /** Set when something was left out that was sent before. */
  readonly compaction?: {
    readonly state: Compaction;
    readonly beforeTokens: number;
    readonly prunedCalls: number;
    readonly summarised: boolean;
    readonly usage?: CountedUsage | undefined;
  };
}

/**
 * Makes the conversation fit the model's window: above three quarters of it, first the outputs of old calls are left
 * out, then older messages are summarised. Calls and their results are never parted, and the same messages under the
 * same compaction give the same. When all that is not enough for the hard limit, the failure of the summary if there was one, otherwise
 * ContextOverflowError.
 */
export async function fit(
  parts: ContextParts,
  state: Compaction,
  summarise: Summarise,
): Promise<Fit> {
  const whole = render(parts, state);
  const ratio = ratioOf(whole, state);
  const { limit } = parts;
  const before = counted(whole, ratio);
  if (before <= limit * FULL) return { messages: whole.messages, tokens: before };

  const pruned = { ...state, prunedThrough: pruneEnd(parts, state, ratio), ratio };
  const outcome = await summarisedFrom(parts, pruned, summarise);
  const summarised = outcome && 'state' in outcome ? outcome : undefined;
  const next = summarised?.state ?? pruned;
  const { messages, ...rendering } = render(parts, next);
  const tokens = counted(rendering, ratio);
  const { hardLimit = limit } = parts;
  if (tokens > hardLimit) {
    throw outcome && 'failure' in outcome
      ? outcome.failure
      : new ContextOverflowError(tokens, hardLimit);
  }
  if (!summarised && next.prunedThrough === state.prunedThrough) return { messages, tokens };
  return {
    messages,
    tokens,
    compaction: {
      state: { ...next, madeAfter: newestOf(parts) },
      beforeTokens: before,
      prunedCalls: prunedBetween(parts, state.prunedThrough, next.prunedThrough),
      summarised: summarised !== undefined,
      usage: summarised?.usage,
    },
  };
}

function counted({ tokens }: Pick<Rendering, 'tokens'>, ratio: number): number {
  return Math.ceil(tokens * ratio);
}

interface Summarised {
  readonly state: Compaction;
  readonly usage: CountedUsage | undefined;
}

/** The state with more of the conversation summarised. Undefined when that is not needed, not worth it or not possible. */
async function summarisedFrom(
  parts: ContextParts,
  state: Compaction,
  summarise: Summarise,
): Promise<Summarised | NoSummary | undefined> {
  const rendering = render(parts, state);
  if (counted(rendering, state.ratio) <= parts.limit * AIMED) return undefined;
  const units = summarisable(rendering, parts.limit, state.ratio);
  const last = units.at(-1);
  if (!last) return undefined;
  const summary = await summarise({ units, former: state.summary });
  if ('failure' in summary) return summary;
  const { text, usage } = summary;
  return { state: { ...state, summarisedThrough: last.message.sequence, summary: text }, usage };
}

/** How many tokens the service counts for one of ours, by the last answer that was given to this very context. */
function ratioOf({ headTokens, units }: Rendering, { madeAfter, ratio }: Compaction): number {
  const last = units.findLastIndex(({ unit }) => (unit.message.usage?.inputTokens ?? 0) > 0);
  const answer = units[last]?.unit.message;
  const counted = answer?.usage?.inputTokens;
  if (!answer || counted === undefined || answer.sequence <= madeAfter) return ratio;
  const sent = units.slice(0, last).reduce((sum, { tokens }) => sum + tokens, headTokens);
  return Math.min(RATIOS.most, Math.max(RATIOS.least, counted / sent));
}

/** The newest result whose output is left out, so that the newest outputs stay that there is room for: one at least. */
function pruneEnd({ conversation, limit }: ContextParts, state: Compaction, ratio: number): number {
  let room = Math.min(KEPT_OUTPUTS, limit * KEPT_OUTPUTS_SHARE);
  const outputs = conversation.results.filter((result) => isPrunable(result)).toReversed();
  const end = outputs.find((result, index) => {
    room -= estimateTokens(result.content) * ratio;
    return index > 0 && room < 0;
  });
  return Math.max(state.prunedThrough, end?.sequence ?? 0);
}

/** The units that a summary would replace: all but the newest ones. None when that is not worth it. */
function summarisable(rendering: Rendering, limit: number, ratio: number): readonly Unit[] {
  const { units } = rendering;
  let room = limit * KEPT_TAIL_SHARE;
  const lastOld = units.findLastIndex(({ tokens }, index) => {
    room -= tokens * ratio;
    return room < 0 && index < units.length - 1;
  });
  const old = units.slice(0, lastOld + 1);
  const saved = old.reduce((sum, { tokens }) => sum + tokens, 0) * ratio;
  const isUrgent = counted(rendering, ratio) > limit;
  return saved < limit * WORTH_SUMMARY && !isUrgent ? [] : old.map(({ unit }) => unit);
}

/** The newest message when the compaction is decided. */
function newestOf({ conversation }: ContextParts): number {
  const sequences = conversation.units.flatMap(({ message, results }) => [
    message.sequence,
    ...results.map(({ sequence }) => sequence),
  ]);
  return Math.max(conversation.initial?.sequence ?? 0, ...sequences);
}

function prunedBetween({ conversation }: ContextParts, after: number, through: number): number {
  return conversation.results.filter(
    (result) => isPrunable(result) && result.sequence > after && result.sequence <= through,
  ).length;
}
