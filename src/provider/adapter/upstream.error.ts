import type { Message } from '../../platform/message/index.js';
import { DomainError } from '../../platform/error/index.js';
import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { asMessage, msg } from '../../platform/message/index.js';
import { isRecord, recordIn, textIn } from './json-fields.js';
import type { JsonRecord } from './json-fields.js';
import { isWebPage, maskSecrets, repeatsSecret, safeText } from './safe-text.js';
import type { Secrets } from './safe-text.js';
import { retryDelayMs } from './retry-after.js';

export type UpstreamErrorKind =
  | 'authentication'
  | 'not-found'
  | 'rate-limit'
  | 'overloaded'
  | 'invalid-request'
  /** The request is longer than the context window of the model. */
  | 'context-length'
  | 'timeout'
  | 'connection'
  /** The answer does not follow the protocol. */
  | 'protocol'
  /** The answer follows the protocol, but what the model wrote cannot be used. */
  | 'content'
  /** The answer ended without saying that it was finished. */
  | 'cut'
  | 'aborted';

const CAUSED_BY_INPUT: ReadonlySet<UpstreamErrorKind> = new Set([
  'invalid-request',
  'context-length',
  'content',
  'protocol',
]);

interface UpstreamErrorDetails {
  readonly kind: UpstreamErrorKind;
  readonly message: Message;
  readonly status?: number;
  readonly retryable?: boolean;
  readonly isExhausted?: boolean;
  readonly retryAfterMs?: number;
  readonly vendorText?: string;
  readonly cause?: unknown;
}

/**
 * A call to a model service that failed. The message may be shown to users: it says what to do next
 * and holds neither credential nor address. Always envelope code 500, so that a provider's 401 never
 * looks like an ended sign-in.
 */
export class UpstreamError extends DomainError {
  readonly code = 500;
  readonly kind: UpstreamErrorKind;
  /** HTTP status of the service's answer, if there was one. */
  readonly status?: number;
  /** Whether the same call may succeed a moment later. */
  readonly retryable: boolean;
  /** The account behind the key has nothing left: another key may help, another try does not. */
  readonly isExhausted: boolean;
  /** The wait that the service asks for. */
  readonly retryAfterMs?: number;
  /** The service's own words as far as users may read them; the message holds them, too. */
  readonly vendorText?: string;

  constructor(details: UpstreamErrorDetails) {
    super(details.message, { cause: details.cause });
    this.kind = details.kind;
    this.retryable = details.retryable ?? false;
    this.isExhausted = details.isExhausted ?? false;
    if (details.status !== undefined) this.status = details.status;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.vendorText !== undefined) this.vendorText = details.vendorText;
  }

  /** Whether the texts of the call may have caused the failure. Any other one concerns the model or its service. */
  get mayBeCausedByInput(): boolean {
    return CAUSED_BY_INPUT.has(this.kind);
  }

  /** The same failure in other words, without what it was caused by. */
  withMessage(message: Message): UpstreamError {
    return new UpstreamError({ ...this, message });
  }
}

export function abortedError(): UpstreamError {
  return new UpstreamError({ kind: 'aborted', message: msg`The call was cancelled.` });
}

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

function kindOf(meaning: VendorMeaning | undefined, status: number | undefined): UpstreamErrorKind {
  // OpenAI reports it so, and its clients know 429 `insufficient_quota`.
  if (meaning === 'exhausted' || status === 402) return 'rate-limit';
  if (meaning === 'refused-content') return 'invalid-request';
  if (meaning !== undefined) return meaning;
  return status === undefined ? 'invalid-request' : kindOfStatus(status);
}

function mayPass(meaning: VendorMeaning | undefined, status: number | undefined): boolean {
  if (meaning === undefined) return status !== undefined && isRetryable(status);
  // A single request that is too large for the limit stays so.
  return (meaning === 'rate-limit' && status !== 413) || meaning === 'overloaded';
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
}

function kindOfStatus(status: number): UpstreamErrorKind {
  if (status === 401 || status === 403) return 'authentication';
  if (status === 404) return 'not-found';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'overloaded' : 'invalid-request';
}

function leadOf(meaning: VendorMeaning | undefined, status: number | undefined): Message {
  if (meaning === 'context-length') {
    return msg`The request is longer than the context window of the model. Shorten the conversation, or choose a model with a larger window.`;
  }
  if (meaning === 'refused-content') {
    return msg`The provider refused the content of the request. Change what is asked or attached.`;
  }
  if (meaning === 'exhausted' && status !== 402) {
    return msg`The account at the provider has no credit or quota left. Check its balance and plan there.`;
  }
  if (status !== undefined) return leadOfStatus(status);
  return msg`The provider reported an error. Try again, or check the model’s settings.`;
}

function leadOfStatus(status: number): Message {
  const messages: Readonly<Record<number, Message>> = {
    401: msg`The provider refused the API key (401). Check the key of this model.`,
    402: msg`The provider asks for payment (402). Check the balance of the account there.`,
    403: msg`The provider does not allow this (403). Check the key of this model and what it may use.`,
    404: msg`The provider does not know this address or model (404). Check the service address and the model id.`,
    413: msg`The request is too large for the provider (413). Shorten the conversation.`,
    429: msg`The provider’s rate limit or quota is used up (429). Wait a moment, or raise the limit there.`,
  };
  if (messages[status] !== undefined) return messages[status];
  return status >= 500 || status === 408
    ? msg`The provider is overloaded or failing (${status}). Try again in a moment.`
    : msg`The provider rejected the request (${status}). Check the model id and its settings.`;
}

/**
 * Translates a failure of the call itself. A refused address stays what it is. With `secrets`, the message is without the key
 * of the call; the address of a redirect, which is the service's own text, is left out when it repeats the key.
 */
export function upstreamErrorOf(failure: unknown, secrets?: Secrets): Error {
  const error = secrets === undefined ? failure : withoutKey(failure, secrets);
  if (error instanceof UpstreamError || error instanceof ForbiddenAddressError) return error;
  if (!(error instanceof OutboundError)) {
    return error instanceof Error ? error : new Error('Unknown failure', { cause: error });
  }
  return new UpstreamError({
    kind: KIND_OF_OUTBOUND[error.kind],
    retryable: error.retryable,
    message: asMessage(error.message.replace(/ to https?:\/\/[^\s,]+/, '')),
    cause: error,
  });
}

function withoutKey(error: unknown, secrets: Secrets): unknown {
  if (error instanceof UpstreamError) {
    const message = maskSecrets(error.message, secrets);
    return message === error.message ? error : error.withMessage(asMessage(message));
  }
  if (!(error instanceof OutboundError) || !repeatsSecret(error.message, secrets)) return error;
  return new OutboundError(error.kind, { retryable: error.retryable });
}

const KIND_OF_OUTBOUND: Readonly<Record<OutboundErrorKind, UpstreamErrorKind>> = {
  connect: 'connection',
  proxy: 'connection',
  dns: 'connection',
  tls: 'connection',
  reset: 'connection',
  'timeout-connect': 'timeout',
  'timeout-idle': 'timeout',
  'timeout-total': 'timeout',
  aborted: 'aborted',
  redirect: 'protocol',
  'too-large': 'protocol',
  protocol: 'protocol',
  request: 'invalid-request',
};

function withVendorText(
  lead: Message,
  text: string,
  secrets: Secrets,
): { readonly message: Message; readonly vendorText?: string } {
  const vendorText = safeText(text, secrets);
  if (vendorText === '') return { message: lead };
  return { message: msg`${lead} It said: ${vendorText}`, vendorText };
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

export function protocolError(what: Message, cause?: unknown): UpstreamError {
  return new UpstreamError({
    kind: 'protocol',
    message: msg`${what} Check that the address belongs to a model service of this protocol.`,
    cause,
  });
}

export function cutError(): UpstreamError {
  return new UpstreamError({
    kind: 'cut',
    message: msg`The provider ended the answer before it was finished. Try again.`,
    retryable: true,
  });
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

/** The meaning of a failure by its words, whatever its status is. */
export type VendorMeaning =
  | 'context-length'
  /** The account has no credit or quota left, which no other try changes. */
  | 'exhausted'
  /** The service does not want to answer this. */
  | 'refused-content'
  | 'authentication'
  | 'not-found'
  | 'rate-limit'
  | 'timeout'
  | 'overloaded';

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
