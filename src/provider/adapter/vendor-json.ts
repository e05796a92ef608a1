import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { isWebPage, safeText } from './safe-text.js';
import type { Secrets } from './safe-text.js';
import { kindOf, leadOf, mayPass, protocolError, UpstreamError } from './upstream.error.js';
import type { VendorMeaning } from './upstream.error.js';

/**
 * Reads of single fields from parsed JSON, for streams, where a schema per event would cost more than
 * everything else. A field of another type counts as absent.
 */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function recordIn(record: JsonRecord, field: string): JsonRecord | undefined {
  const value = record[field];
  return isRecord(value) ? value : undefined;
}

export function textIn(record: JsonRecord, field: string): string | undefined {
  const value = record[field];
  return typeof value === 'string' ? value : undefined;
}

/** The largest accepted index or count of tokens; a sum of some still fits where they are stored. */
const MAX_NUMBER = 500_000_000;

/** A whole number, as counts and indexes are. Some gateways answer fractions or nonsense, which say nothing. */
export function wholeNumberIn(record: JsonRecord | undefined, field: string): number | undefined {
  const value = record?.[field];
  const isCount = typeof value === 'number' && Number.isInteger(value);
  return isCount && value >= 0 && value <= MAX_NUMBER ? value : undefined;
}

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

/** The first object of a list. */
export function firstRecordIn(record: JsonRecord, field: string): JsonRecord | undefined {
  const value = record[field];
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isRecord(first) ? first : undefined;
}

/** The objects of a list; other entries are skipped. */
export function recordsIn(record: JsonRecord, field: string): readonly JsonRecord[] {
  const value = record[field];
  return Array.isArray(value) ? value.filter((item) => isRecord(item)) : [];
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own error quotes the text, which may repeat the key.
    throw protocolError(msg`The provider sent something that is not JSON.`);
  }
}

/**
 * The object that an event or a line of a stream holds. Throws UpstreamError: (protocol) for what is no JSON, and the error that a
 * list or a plain text is in place of an event.
 */
export function parseRecord(text: string, secrets?: Secrets): JsonRecord {
  const isObject = text.startsWith('{');
  if (secrets && !isObject && PLAIN_TEXT.test(text) && !isJson(text)) {
    const failure = errorInAnswer(text, secrets);
    // Text without a known meaning is no answer of the protocol.
    if (
      failure.kind !== 'invalid-request' ||
      /\b(?:error|failed|failure|exception|refused)\b/i.test(text)
    )
      throw failure;
  }
  const record = parseJson(text);
  if (secrets && Array.isArray(record)) throwIfError(record, secrets);
  if (!isRecord(record))
    throw protocolError(msg`The provider sent an event that is not an object.`);
  return record;
}

/** Whether a last piece that the stream left unterminated came whole. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Matches words, not the beginning of JSON or of a page. */
const PLAIN_TEXT = /^\s*(?:[\p{L}[]|<\d)/u;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string | undefined;
  /** The wait that the response headers ask for. */
  readonly retryAfterMs?: number | undefined;
}

/** Maps an answer with an error status to an error in words that a user may read. */
export function errorOfAnswer(
  { status, body, contentType, retryAfterMs }: Answer,
  secrets: Secrets,
): UpstreamError {
  const vendorError = readVendorError(isWebPage(body, contentType) ? '' : body);
  return failureOf(vendorError, status, secrets, retryAfterMs);
}

/** An error object inside of an answer or a stream. */
export function errorInAnswer(error: unknown, secrets: Secrets): UpstreamError {
  const vendorError = readVendorError(error);
  return failureOf(vendorError, vendorError.status, secrets);
}

/** Throws the error that an answer or an event with status 200 holds, in any of the forms of errorIn. */
export function throwIfError(answer: unknown, secrets: Secrets): void {
  const error = errorIn(answer);
  if (error !== undefined) throw errorInAnswer(error, secrets);
}

function failureOf(
  vendorError: VendorError,
  status: number | undefined,
  secrets: Secrets,
  requestedMs?: number,
): UpstreamError {
  const meaning = meaningOf(vendorError, status);
  const isExhausted = meaning === 'exhausted' || status === 402;
  const retryable = !isExhausted && mayPass(meaning, status);
  const retryAfterMs = requestedMs ?? (retryable ? vendorError.retryAfterMs : undefined);
  return new UpstreamError({
    kind: kindOf(meaning, status),
    ...(status !== undefined && { status }),
    ...(isExhausted && { isExhausted }),
    retryable,
    ...withVendorText(leadOf(meaning, status), vendorError.text, secrets),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function withVendorText(
  lead: Message,
  text: string,
  secrets: Secrets,
): { readonly message: Message; readonly vendorText?: string } {
  const vendorText = safeText(text, secrets);
  if (vendorText === '') return { message: lead };
  return { message: msg`${lead} It said: ${vendorText}`, vendorText };
}

/** The failure that a service reports, in any of the forms of JSON and text that services have. */
export interface VendorError {
  /** The text for people; '' where the service sends none. May contain secrets. */
  readonly text: string;
  /** Codes and types, beside the text. */
  readonly words: string;
  /** The HTTP status that is named in it. */
  readonly status: number | undefined;
  /** The wait that the service asks for. */
  readonly retryAfterMs: number | undefined;
}

/** Gateways put the error of the service behind them into their own, as JSON in a text. */
const MAX_DEPTH = 5;
const MAX_LISTED = 5;

/** JSON of an object or a list in a text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function readVendorError(value: unknown): VendorError {
  const json = typeof value === 'string' ? (jsonIn(value) ?? value) : value;
  const words: string[] = [];
  collectWords(json, words, 0);
  const text = textOf(json, 0);
  return {
    text,
    words: words.join(' '),
    status: statusIn(json),
    retryAfterMs: retryDelayMs(json, text),
  };
}

/** The error in an answer or an event whose status was 200; undefined where there is none. Costs little for a good one. */
export function errorIn(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    const first: unknown = answer[0];
    return isRecord(first) && first['error'] !== undefined ? errorIn(first) : undefined;
  }
  if (!isRecord(answer)) return undefined;
  const { error, choices, base_resp: base } = answer;
  if (error !== undefined && error !== null && error !== false && error !== '') return error;
  if (isRecord(base) && !isSuccess(base['status_code'])) return base;
  if (Array.isArray(choices)) {
    const first: unknown = choices[0];
    return isRecord(first) && isRecord(first['error']) ? first['error'] : undefined;
  }
  return isBareError(answer) ? answer : undefined;
}

/** Fields of successful answers. Errors have none of them. */
const CONTENTS = [
  'choices',
  'content',
  'delta',
  'output',
  'data',
  'results',
  'embeddings',
] as const;
const TEXTS = ['message', 'msg', 'Message', 'error_msg', 'error_message', 'errorMessage'] as const;

/** An error without a field around it: `{code, message}`, `{detail}`, `{errors}`, `{object: "error"}`. */
function isBareError(answer: JsonRecord): boolean {
  const { type, object } = answer;
  if (object === 'error' || type === 'error') return true;
  // An event whose type names no error is none, whatever its other fields say.
  if (typeof type === 'string' && !/error|exception/i.test(type)) return false;
  if (CONTENTS.some((field) => answer[field] !== undefined && answer[field] !== null)) return false;
  const { errors, detail, code, error_code: other = code } = answer;
  if (Array.isArray(errors) && errors.length > 0) return true;
  if (typeof detail === 'string' || (Array.isArray(detail) && detail.length > 0)) return true;
  const hasText = TEXTS.some((field) => textIn(answer, field) !== undefined);
  return hasText && (other === undefined || other === null || !isSuccess(other));
}

function isSuccess(code: unknown): boolean {
  return ['', '0', '200', '20000', 'ok', 'success', 'null', 'undefined'].includes(
    String(code).toLowerCase(),
  );
}

/** The text for people. Of a general one and the one it is about, both. */
function textOf(json: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  if (typeof json === 'string') return textInText(json, depth);
  if (Array.isArray(json)) {
    const texts = json.slice(0, MAX_LISTED).map((one: unknown) => textOf(one, depth + 1));
    return texts.filter((text) => text !== '').join('; ');
  }
  if (!isRecord(json)) return '';
  const text = textOfRecord(json, depth);
  // OpenRouter puts the answer of the service behind it here.
  const inner = textOf(recordIn(json, 'metadata')?.['raw'], depth + 1);
  return joined(text, inner);
}

const INNER = ['error', 'errors', 'detail', 'details', 'base_resp', 'fault', ...TEXTS] as const;
const REASONS = ['status_msg', 'reason', 'faultstring', 'title', 'code', 'type', '__type'] as const;

function textOfRecord(json: JsonRecord, depth: number): string {
  const { loc, msg: description } = json;
  if (Array.isArray(loc) && typeof description === 'string') {
    return `${loc.filter((one) => one !== 'body').join('.')}: ${description}`;
  }
  let text = '';
  for (const field of INNER) {
    // Details of another kind stand beside a message in some errors.
    if (field === 'details' && text !== '') continue;
    const value = json[field];
    if (value !== undefined && value !== null) text = joined(text, textOf(value, depth + 1));
  }
  if (text !== '') return text;
  for (const field of REASONS) {
    const value = json[field];
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return '';
}

function joined(text: string, other: string): string {
  if (text === '' || other.includes(text)) return other;
  return other === '' || text.includes(other) ? text : `${text}: ${other}`;
}

/** A text as it is, but for JSON in it, of which only the text is for people. A web page says nothing to them. */
function textInText(text: string, depth: number): string {
  if (isWebPage(text)) return '';
  const xml = /<message>([^<]*)<\/message>/i.exec(text)?.[1];
  if (xml !== undefined && /^\s*</.test(text)) return xml;
  const start = text.search(/[[{]\s*["{]/);
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  const inner = start < 0 ? undefined : jsonIn(text.slice(start, end));
  const innerText = inner === undefined ? '' : textOf(inner, depth + 1);
  if (innerText === '') return text;
  return joined(text.slice(0, start).replace(/[\s:-]+$/, ''), innerText);
}

const CODES = ['type', 'code', 'status', 'error_code', 'status_code', '__type', 'reason', 'param'];

function collectWords(json: unknown, words: string[], depth: number): void {
  if (depth > MAX_DEPTH) return;
  if (typeof json === 'string') {
    const start = json.search(/[[{]\s*["{]/);
    if (start >= 0) collectWords(jsonIn(json.slice(start)), words, depth + 1);
  } else if (Array.isArray(json)) {
    for (const one of json.slice(0, MAX_LISTED)) collectWords(one, words, depth + 1);
  } else if (isRecord(json)) {
    for (const [field, value] of Object.entries(json)) {
      const isCode =
        CODES.includes(field) && (typeof value === 'string' || typeof value === 'number');
      const isWord = typeof value === 'string' && field === 'error' && /^[\w.-]{1,60}$/.test(value);
      if (isCode || isWord) words.push(String(value));
      else collectWords(value, words, depth + 1);
    }
  }
}

function statusIn(error: unknown): number | undefined {
  if (!isRecord(error)) return undefined;
  const named = [error['status'], error['code'], error['http_code'], error['status_code']];
  return named.map(Number).find((number) => number >= 400 && number < 600);
}

/** A limit by time is no limit of the context window. */
const BY_TIME =
  /rate.?limit|per.?(?:second|minute|hour|day)|\b[RT]P[MD]\b|too many requests|throttl/i;
/** The answer that was asked for is too long, not what was sent. Beside a plus, it is a part of what must fit the window. */
const OUTPUT_TOO_LARGE =
  /(?<!\+\s?['"`]?)max_(?:completion_|output_|new_)?tokens\b['"`]*[^.]{0,80}?(?:too large|too high|must be (?:less|at most|<)|should be|valid range|at most)/i;

/**
 * A request that is longer than the model's context window, in the words of: OpenAI, Azure, Anthropic, Bedrock, Gemini, xAI, Groq,
 * Mistral, OpenRouter, Together, vLLM, SGLang, TGI, llama.cpp, LM Studio, Ollama, DashScope, Kimi, GLM, MiniMax, Cohere.
 */
const TOO_LONG: readonly RegExp[] = [
  /context[ _-]?(?:length|window|size)(?: (?:has been|was|is))?[ _-]?exceeded|exceed_context_size/i,
  /\b(?:prompt|input|messages?|conversation|request) (?:is |are |was )?too long\b/i,
  /\bprompt exceeds max/i,
  /\bmax(?:imum)? (?:context|prompt|input|sequence)[ -](?:length|size|window)/i,
  /\bexceed(?:s|ed|ing)? (?:the |this |your )?(?:model['’]?s? )?(?:max(?:imum)? |available |allowed |configured )*(?:context|input|sequence|prompt|model token|token)[ _-]?(?:length|window|size|limit)/i,
  /\b(?:input|prompt) token(?:s| count)?\b.{0,60}\bexceeds?\b/i,
  /\b(?:longer|greater|larger) than the (?:model['’]?s )?(?:maximum )?(?:context|input|sequence)[ -](?:length|window|size)/i,
  /\bcontext (?:window|length|limit) exceeds\b|\bcontext (?:the |window )?overflow/i,
  /\brange of input length\b/i,
  /\breduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /\btoo many tokens\b(?!,? please wait)/i,
  /`inputs`.{0,40}must (?:be|have less than)/i,
  /(?:上下文|输入|提示|prompt).{0,12}(?:超出|超过|过长|超长)/iu,
];

/** The account comes first, because services report it as a rate limit as well. */
const MEANINGS: readonly (readonly [VendorMeaning, RegExp])[] = [
  [
    'exhausted',
    /insufficient[ _-]?(?:quota|balance|funds|credits?)|credit balance is too low|out of credits?|(?:no|not enough) credits?|billing_(?:hard_limit|not_active)|arrearage|account.{0,20}(?:overdue|in arrears)|\b1113\b|余额不足|欠费|please (?:recharge|top up)/iu,
  ],
  [
    'refused-content',
    /content_?filter|data_?inspection_?failed|responsibleaipolicy|content management policy|inappropriate content|content_policy_violation|\bnew_sensitive|input_sensitive|output_sensitive|敏感/iu,
  ],
];

/** Meanings by code only: texts use these words freely. */
const MEANING_OF_CODE: readonly (readonly [VendorMeaning, RegExp])[] = [
  [
    'authentication',
    /authentication|permission|unauth|invalid_?api_?key|forbidden|access_?denied/i,
  ],
  ['not-found', /not_?found|no_?such_?model|model_not_exist/i],
  ['rate-limit', /rate_?limit|quota|throttl|too_?many|resource_exhausted|limit_?burst/i],
  ['timeout', /time_?out|deadline_exceeded/i],
  [
    'overloaded',
    /overload|unavailable|server_?error|api_error|internal|engine_busy|capacity_?exceeded/i,
  ],
];

/** Meanings of texts without a code. */
const MEANING_OF_TEXT: readonly (readonly [VendorMeaning, RegExp])[] = [
  [
    'authentication',
    /(?:api.?key (?:is )?(?:not valid|invalid|missing)|(?:invalid|incorrect) api.?key)/i,
  ],
  [
    'not-found',
    /\bmodel\b.{0,80}\b(?:not found|does ?n[o']t exist|not exist)\b|\bno such model\b/i,
  ],
  ['rate-limit', /rate.?limit|too many requests|请求过于频繁|频率|并发/iu],
  [
    'overloaded',
    /overloaded|capacity exceeded|temporarily unavailable|service unavailable|internal server error|server (?:is )?busy|try again later/i,
  ],
];

/** Codes of MiniMax's base_resp (its documentation, "Error codes", 2026). */
const MEANING_OF_MINIMAX: Readonly<Record<string, VendorMeaning>> = {
  1000: 'overloaded',
  1001: 'timeout',
  1002: 'rate-limit',
  1004: 'authentication',
  1008: 'exhausted',
  1013: 'overloaded',
  1024: 'overloaded',
  1026: 'refused-content',
  1027: 'refused-content',
  1033: 'overloaded',
  1039: 'rate-limit',
  1041: 'rate-limit',
  2049: 'authentication',
  2056: 'exhausted',
};

/** The meaning of a failure; undefined where the status says more than the words. */
export function meaningOf(
  { text, words }: VendorError,
  status: number | undefined,
): VendorMeaning | undefined {
  const all = `${words} ${text}`;
  const isByTime = BY_TIME.test(all);
  if (mayBeTooLong(status) && !isByTime && !OUTPUT_TOO_LARGE.test(text)) {
    if (TOO_LONG.some((pattern) => pattern.test(all))) return 'context-length';
    if (status === 413 && /\btokens?\b|\bcontext\b|\blength\b/i.test(text)) return 'context-length';
  }
  const named = MEANINGS.find(([, pattern]) => pattern.test(all))?.[0];
  if (named !== undefined) return named;
  // Groq: more tokens in one request than the account has a minute.
  if (status === 413 && isByTime) return 'rate-limit';
  if (status !== undefined)
    return status === 400 || status === 422 ? meaningOf400(words, text) : undefined;
  const minimax = MEANING_OF_MINIMAX[words.trim()];
  if (minimax !== undefined) return minimax;
  const ofCode = MEANING_OF_CODE.find(([, pattern]) => pattern.test(words))?.[0];
  return ofCode ?? MEANING_OF_TEXT.find(([, pattern]) => pattern.test(text))?.[0];
}

/** Some services answer 400 for any failure. */
function meaningOf400(words: string, text: string): VendorMeaning | undefined {
  const code = /invalid_?api_?key|api_?key_?invalid/i.test(words) ? 'authentication' : undefined;
  const model = /model_?not_?(?:found|exist)/i.test(words) ? 'not-found' : undefined;
  const rate = /throttl|rate_?limit/i.test(words) ? 'rate-limit' : undefined;
  const ofText = MEANING_OF_TEXT.find(([, pattern]) => pattern.test(text))?.[0];
  return code ?? model ?? rate ?? (ofText === 'overloaded' ? undefined : ofText);
}

function mayBeTooLong(status: number | undefined): boolean {
  return status === undefined || ![401, 402, 403, 404, 408, 429].includes(status);
}

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
const MAX_WAIT_TEXT_CHARS = 4_000;
const MAX_WAIT_DEPTH = 6;
const MAX_WAIT_FIELDS = 10;

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
  return delayIn(error, 0) ?? delayInText(text.slice(0, MAX_WAIT_TEXT_CHARS));
}

function delayIn(value: unknown, depth: number): number | undefined {
  if (depth > MAX_WAIT_DEPTH || typeof value !== 'object' || value === null) return undefined;
  if (isRecord(value)) {
    const { retryDelay } = value;
    if (typeof retryDelay === 'string' && WHOLE_DURATION.test(retryDelay))
      return durationOf(retryDelay);
  }
  for (const inner of Object.values(value).slice(0, MAX_WAIT_FIELDS)) {
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
