import { isRecord, recordIn, wholeNumberIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import type { Usage } from '../model-call.js';

const DIGITS = /^\d{1,9}$/;

/** A count of tokens, which some gateways write as a text. Fractions and nonsense say nothing. */
export function countIn(record: JsonRecord | undefined, field: string): number | undefined {
  const value = record?.[field];
  const isText = typeof value === 'string' && DIGITS.test(value);
  return wholeNumberIn(isText ? { [field]: Number(value) } : record, field);
}

/** The first nonzero count; zero without one. */
export function firstCount(...counts: readonly (number | undefined)[]): number | undefined {
  let zero: number | undefined;
  for (const count of counts) {
    if (count) return count;
    zero ??= count;
  }
  return zero;
}

/**
 * Usage as services of chat-completions and their gateways spell it. Cached tokens: OpenAI `prompt_tokens_details`, DeepSeek
 * `prompt_cache_hit_tokens`, Kimi `cached_tokens`, gateways before Anthropic `cache_read_input_tokens`. Gateways before other
 * protocols keep `input_tokens` and `output_tokens`.
 */
export function chatUsage(raw: JsonRecord): Usage {
  const inputTokens = firstCount(countIn(raw, 'prompt_tokens'), countIn(raw, 'input_tokens'));
  const named = firstCount(countIn(raw, 'completion_tokens'), countIn(raw, 'output_tokens'));
  const totalTokens = countIn(raw, 'total_tokens');
  const thought = firstCount(thinkingTokens(raw), countIn(raw, 'reasoning_tokens'));
  const unnamed = unnamedThinking(inputTokens, named, totalTokens);
  const isBeside = unnamed > 0 && (thought === undefined || thought === 0 || thought === unnamed);
  return {
    inputTokens,
    outputTokens: isBeside && named !== undefined ? named + unnamed : named,
    totalTokens,
    cachedInputTokens: firstCount(
      countIn(recordIn(raw, 'prompt_tokens_details'), 'cached_tokens'),
      countIn(recordIn(raw, 'input_tokens_details'), 'cached_tokens'),
      countIn(raw, 'prompt_cache_hit_tokens'),
      countIn(raw, 'cached_tokens'),
      countIn(raw, 'cache_read_input_tokens'),
    ),
    reasoningTokens: isBeside ? unnamed : thought,
    raw,
  };
}

/** Thinking tokens, which every protocol counts in the output. */
export function thinkingTokens(raw: JsonRecord): number | undefined {
  const { completion_tokens_details: ofChat, output_tokens_details: ofOthers } = raw;
  if (ofChat === undefined && ofOthers === undefined) return undefined;
  return firstCount(
    ...[ofChat, ofOthers].flatMap((value) => {
      const details = isRecord(value) ? value : undefined;
      return [countIn(details, 'reasoning_tokens'), countIn(details, 'thinking_tokens')];
    }),
  );
}

/** Gemini and xAI leave thinking out of `completion_tokens`, but not out of the total. */
function unnamedThinking(
  input: number | undefined,
  output: number | undefined,
  total: number | undefined,
): number {
  if (input === undefined || output === undefined || total === undefined) return 0;
  return Math.max(0, total - input - output);
}

/** Usage beside the choices of a chunk, in the first one (Kimi), or below `x_groq`. The last that says something counts. */
export function usageIn(answer: JsonRecord, choice: JsonRecord | undefined): Usage | undefined {
  const { x_groq: groqs, usage: beside } = answer;
  // Most chunks have no usage.
  if (!isRecord(beside) && !isRecord(groqs) && !isRecord(choice?.['usage'])) return undefined;
  if (isRecord(beside) && !isRecord(groqs) && !choice?.['usage']) return chatUsage(beside);
  const groq = recordIn(answer, 'x_groq');
  const places = [groq?.['usage'], choice?.['usage'], beside];
  return places.reduce<Usage | undefined>(
    (usage, place) => (isRecord(place) ? laterUsage(usage, chatUsage(place)) : usage),
    undefined,
  );
}

/** Usage after a later report of it: counts that are missing or zero there stay as they were. */
export function laterUsage(before: Usage | undefined, later: Usage): Usage {
  if (before === undefined) return later;
  return {
    inputTokens: laterCount(later.inputTokens, before.inputTokens),
    outputTokens: laterCount(later.outputTokens, before.outputTokens),
    totalTokens: laterCount(later.totalTokens, before.totalTokens),
    cachedInputTokens: laterCount(later.cachedInputTokens, before.cachedInputTokens),
    reasoningTokens: laterCount(later.reasoningTokens, before.reasoningTokens),
    raw: isEmpty(later) ? before.raw : later.raw,
  };
}

function laterCount(later: number | undefined, before: number | undefined): number | undefined {
  return later || (before ?? later);
}

function isEmpty({ inputTokens, outputTokens, totalTokens }: Usage): boolean {
  return !inputTokens && !outputTokens && !totalTokens;
}
