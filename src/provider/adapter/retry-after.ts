import { isRecord } from './json-fields.js';

/** A longer pause is shortened to this. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `38s`, `1.2s`, `6m0s`, `114h18m0s`, `20ms`, `45 seconds`. */
const DURATION =
  '(?:\\d{1,9}(?:\\.\\d{1,9})?\\s?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])\\s?){1,3}';
const WHOLE_DURATION = new RegExp(`^${DURATION}$`, 'i');
/** OpenAI and Groq: "Please try again in 1.2s"; Azure: "Please retry after 45 seconds"; Gemini: "Please retry in 38.2s". */
const ASKED_DURATION = new RegExp(
  `\\b(?:try again|retry|wait)\\b(?: your requests?)?(?: in| after| for| at least| about){0,2} (${DURATION})`,
  'i',
);
const ASKED_SECONDS_IN_CHINESE = /(\d{1,9}(?:\.\d{1,9})?)\s?秒(?:钟)?(?:之|以)?后/u;
/** Services put the wait at the beginning of a text. */
const MAX_TEXT_CHARS = 4_000;
const MAX_DEPTH = 6;
const MAX_LISTED = 10;

/** The headers of an answer in which a service asks to wait. */
interface RetryHeaders {
  readonly 'retry-after'?: string | readonly string[] | undefined;
  /** OpenAI and Azure. */
  readonly 'retry-after-ms'?: string | readonly string[] | undefined;
}

/**
 * The wait that the headers of a service ask for: milliseconds, or Retry-After (RFC 9110, 10.2.3) in seconds or as an HTTP date. At
 * most a day; undefined where there is none that can be read.
 */
export function retryAfterMs(headers: RetryHeaders, now = Date.now()): number | undefined {
  const exact = valueOf(headers['retry-after-ms']);
  if (isNumber(exact)) return limited(Number(exact));
  const value = valueOf(headers['retry-after']);
  if (isNumber(value)) return limited(Number(value) * 1_000);
  const date = value === '' ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : limited(Math.max(0, date - now));
}

/** The same by its error: `retryDelay` in the details of Google (google.rpc.RetryInfo, 2026-11), or else by its text. */
export function retryDelayMs(error: unknown, text: string): number | undefined {
  return delayIn(error, 0) ?? delayInText(text.slice(0, MAX_TEXT_CHARS));
}

function delayIn(value: unknown, depth: number): number | undefined {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return undefined;
  if (isRecord(value)) {
    const { retryDelay } = value;
    if (typeof retryDelay === 'string' && WHOLE_DURATION.test(retryDelay))
      return durationOf(retryDelay);
  }
  for (const inner of Object.values(value).slice(0, MAX_LISTED)) {
    const delay = delayIn(inner, depth + 1);
    if (delay !== undefined) return delay;
  }
  return undefined;
}

function delayInText(text: string): number | undefined {
  const duration = ASKED_DURATION.exec(text)?.[1];
  if (duration !== undefined) return durationOf(duration);
  const seconds = ASKED_SECONDS_IN_CHINESE.exec(text)?.[1];
  return seconds === undefined ? undefined : limited(Number(seconds) * 1_000);
}

function durationOf(text: string): number {
  let milliseconds = 0;
  for (const [, amount, word = ''] of text.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)) {
    const unit = /^(?:ms|milli)/i.test(word) ? 'ms' : word.charAt(0).toLowerCase();
    milliseconds += Number(amount) * (UNIT_MS[unit] ?? 0);
  }
  return limited(milliseconds);
}

function valueOf(header: string | readonly string[] | undefined): string {
  return (typeof header === 'string' ? header : (header?.[0] ?? '')).trim();
}

function isNumber(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}

function limited(milliseconds: number): number {
  return Math.min(Math.ceil(milliseconds), MAX_RETRY_AFTER_MS);
}
