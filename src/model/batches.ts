import { UpstreamError } from '../provider/index.js';
import type { ModelFindings } from './findings/model.findings.js';
import type { ResolvedModel } from './model.resolver.js';

/** The items in their order, at most `size` together. */
export function inBatches<T>(items: readonly T[], size: number): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) {
    batches.push(items.slice(start, start + size));
  }
  return batches;
}

/**
 * The number of texts for each of the calls that replace a failed call of `count` texts. A limit that the refusal names is stored
 * for the model, as `maxInputs`. Undefined where fewer texts would not help.
 */
export async function learnBatchSize(
  findings: ModelFindings,
  model: ResolvedModel,
  error: unknown,
  count: number,
): Promise<number | undefined> {
  const refused = smallerBatch(error, count);
  if (refused?.isLimit) await findings.keep(model, new Map([['maxInputs', refused.size]]));
  return refused?.size;
}

/** The subject of the numbers in a refusal. */
const ABOUT_COUNT =
  /batch|inputs|input array|requests|texts|array|\blist\b|items|elements|documents|contents|条|数组|批/i;
/** A sum of tokens depends on the texts and does not limit their number. */
const ABOUT_TOKENS = /token|character|字符/i;
const ABOUT_SUM = /batch|total|sum of|per request|in (?:one|a single|the) request|all inputs/i;

/**
 * Limits as services word them. DashScope: "batch size is invalid, it should not be larger than 10"; Text Embeddings Inference:
 * "batch size 64 > maximum allowed batch size 32"; Gemini: "at most 100 requests can be in one batch"; Cohere: "total number of
 * texts must be at most 96"; Azure: "The max number of inputs is 1"; OpenAI: "array length must be 2048 or less"; Zhipu:
 * "input数组最大不得超过64条" (2026-11).
 */
const LIMITS: readonly RegExp[] = [
  /(?:larger|greater|more|longer|higher|bigger|less|fewer) than(?: or equal to)? (\d+)/i,
  /at most (\d+)/i,
  /up to (\d+)/i,
  /(\d+) or (?:less|fewer)/i,
  /(?:max|limit)[^\d.]{0,60}?(?:is|of|to|:|=|size)?\s*[(["']?(\d+)/i,
  /(?:exceed|over|above|beyond)[^\d]{0,60}?(\d+)/i,
  /(?:<=|≤)\s*(\d+)/,
  /(?:超过|超出|最大|最多|上限|大于)[^\d]{0,20}(\d+)/,
];
const TOO_MANY =
  /too (?:many|large|long|big)|exceed|split|smaller batch|larger than|greater than|over the|maximum|at most|过多|过大|超过|超出/i;

interface SmallerBatch {
  readonly size: number;
  /** The service named this number; it is half of the call otherwise. */
  readonly isLimit: boolean;
}

/** Exported for its spec. */
export function smallerBatch(error: unknown, count: number): SmallerBatch | undefined {
  if (!(error instanceof UpstreamError) || error.retryable || count < 2) return undefined;
  const half = { size: Math.ceil(count / 2), isLimit: false };
  if (error.status === 413 && error.vendorText === undefined) return half;
  const isRefusal = error.kind === 'invalid-request' || error.kind === 'context-length';
  const text = error.vendorText ?? '';
  if (!isRefusal) return undefined;
  if (ABOUT_TOKENS.test(text)) {
    return ABOUT_SUM.test(text) && TOO_MANY_TOKENS.test(text) ? half : undefined;
  }
  if (error.status !== 413 && !ABOUT_COUNT.test(text)) return undefined;
  const size = LIMITS.map((limit) => Number(limit.exec(text)?.[1])).find(
    (limit) => limit >= 1 && limit < count,
  );
  if (size !== undefined) return { size, isLimit: true };
  return error.status === 413 || TOO_MANY.test(text) ? half : undefined;
}

const TOO_MANY_TOKENS = /too many|max|exceed|limit|larger than|lower the number/i;
