import { isRecord, recordIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import type { Usage } from '../model-call.js';

/** No count of tokens is larger; a sum of some still fits where they are stored. */
const MAX_TOKENS_COUNT = 500_000_000;
const DIGITS = /^\d{1,9}$/;

/** A count of tokens, which some gateways write as a text. Fractions and nonsense say nothing. */
export function countIn(record: JsonRecord | undefined, field: string): number | undefined {
  const value = record?.[field];
  const count = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
  const isCount = typeof count === 'number' && Number.isInteger(count);
  return isCount && count >= 0 && count <= MAX_TOKENS_COUNT ? count : undefined;
}

/** The first count that is not zero; zero where there is no other. */
export function firstCount(...counts: readonly (number | undefined)[]): number | undefined {
  return (
    counts.find((count) => count !== undefined && count > 0) ?? counts.find((count) => count === 0)
  );
}

/**
 * Usage as services of chat-completions and their gateways spell it. Cached tokens: OpenAI `prompt_tokens_details`, DeepSeek
 * `prompt_cache_hit_tokens`, Kimi `cached_tokens`, gateways before Anthropic `cache_read_input_tokens`. Gateways before other
 * protocols keep `input_tokens` and `output_tokens`.
 */
export function chatUsage(raw: JsonRecord): Usage {
  const read = [recordIn(raw, 'prompt_tokens_details'), recordIn(raw, 'input_tokens_details')];
  const written = writtenDetails(raw);
  const inputTokens = firstCount(countIn(raw, 'prompt_tokens'), countIn(raw, 'input_tokens'));
  const named = firstCount(countIn(raw, 'completion_tokens'), countIn(raw, 'output_tokens'));
  const totalTokens = countIn(raw, 'total_tokens');
  const thought = firstCount(...written, countIn(raw, 'reasoning_tokens'));
  const unnamed = unnamedThinking(inputTokens, named, totalTokens);
  const isBeside = unnamed > 0 && (thought === undefined || thought === 0 || thought === unnamed);
  return {
    inputTokens,
    outputTokens: isBeside && named !== undefined ? named + unnamed : named,
    totalTokens,
    cachedInputTokens: firstCount(
      ...read.map((details) => countIn(details, 'cached_tokens')),
      countIn(raw, 'prompt_cache_hit_tokens'),
      countIn(raw, 'cached_tokens'),
      countIn(raw, 'cache_read_input_tokens'),
    ),
    reasoningTokens: isBeside ? unnamed : thought,
    raw,
  };
}

/** Thinking tokens, which every protocol counts in the output. */
export function writtenDetails(raw: JsonRecord): readonly (number | undefined)[] {
  const details = ['completion_tokens_details', 'output_tokens_details'];
  return details.flatMap((field) => {
    const found = recordIn(raw, field);
    return [countIn(found, 'reasoning_tokens'), countIn(found, 'thinking_tokens')];
  });
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
  // Most chunks have none.
  if (!isRecord(beside) && !isRecord(groqs) && !isRecord(choice?.['usage'])) return undefined;
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
    inputTokens: firstCount(later.inputTokens, before.inputTokens),
    outputTokens: firstCount(later.outputTokens, before.outputTokens),
    totalTokens: firstCount(later.totalTokens, before.totalTokens),
    cachedInputTokens: firstCount(later.cachedInputTokens, before.cachedInputTokens),
    reasoningTokens: firstCount(later.reasoningTokens, before.reasoningTokens),
    raw: isEmpty(later) ? before.raw : later.raw,
  };
}

function isEmpty({ inputTokens, outputTokens, totalTokens }: Usage): boolean {
  return !inputTokens && !outputTokens && !totalTokens;
}
