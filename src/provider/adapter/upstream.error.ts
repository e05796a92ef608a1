import type { Message } from '../../platform/message/index.js';
import { DomainError } from '../../platform/error/index.js';
import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { asMessage, msg } from '../../platform/message/index.js';
import { isRecord, textIn } from './json-fields.js';
import type { JsonRecord } from './json-fields.js';
import { repeatsSecret, safeText } from './safe-text.js';
import type { Secrets } from './safe-text.js';

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

interface UpstreamErrorDetails {
  readonly kind: UpstreamErrorKind;
  readonly message: Message;
  readonly status?: number;
  readonly retryable?: boolean;
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
  /** HTTP status of the service, where it answered one. */
  readonly status?: number;
  /** Whether the same call may succeed a moment later. */
  readonly retryable: boolean;
  /** How long the service asks to wait. */
  readonly retryAfterMs?: number;
  /** The service's own words as far as users may read them; the message holds them, too. */
  readonly vendorText?: string;

  constructor(details: UpstreamErrorDetails) {
    super(details.message, { cause: details.cause });
    this.kind = details.kind;
    this.retryable = details.retryable ?? false;
    if (details.status !== undefined) this.status = details.status;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.vendorText !== undefined) this.vendorText = details.vendorText;
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
  readonly retryAfter?: string | undefined;
}

/** What an answer with an error status means, in words that a user may read. */
export function errorOfAnswer(answer: Answer, secrets: Secrets): UpstreamError {
  const { status } = answer;
  const after = retryAfterMs(answer.retryAfter);
  return new UpstreamError({
    kind: kindOfStatus(status),
    status,
    retryable: isRetryable(status),
    ...withVendorText(leadOfStatus(status), messageIn(answer.body), secrets),
    ...(after !== undefined && { retryAfterMs: after }),
  });
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function kindOfStatus(status: number): UpstreamErrorKind {
  if (status === 401 || status === 403) return 'authentication';
  if (status === 404) return 'not-found';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'overloaded' : 'invalid-request';
}

function leadOfStatus(status: number): Message {
  const known: Readonly<Record<number, Message>> = {
    401: msg`The provider refused the API key (401). Check the key of this model.`,
    402: msg`The provider asks for payment (402). Check the balance of the account there.`,
    403: msg`The provider does not allow this (403). Check the key of this model and what it may use.`,
    404: msg`The provider does not know this address or model (404). Check the service address and the model id.`,
    413: msg`The request is too large for the provider (413). Shorten the conversation.`,
    429: msg`The provider’s rate limit or quota is used up (429). Wait a moment, or raise the limit there.`,
  };
  if (known[status] !== undefined) return known[status];
  return status >= 500 || status === 408
    ? msg`The provider is overloaded or failing (${status}). Try again in a moment.`
    : msg`The provider rejected the request (${status}). Check the model id and its settings.`;
}

/** The words by which providers name errors inside of an answer with status 200. */
const KIND_BY_WORD: readonly (readonly [RegExp, UpstreamErrorKind])[] = [
  [/authentication|permission|unauthorized|invalid_?api_?key|forbidden/i, 'authentication'],
  [/not_?found/i, 'not-found'],
  [/rate_?limit|quota|throttl|too_?many/i, 'rate-limit'],
  [/time_?out/i, 'timeout'],
  [/overloaded|unavailable|server_error|api_error|internal/i, 'overloaded'],
];

const RETRYABLE_KINDS: ReadonlySet<UpstreamErrorKind> = new Set(['rate-limit', 'overloaded']);

/** An error object inside of an answer or a stream. */
export function errorInAnswer(error: unknown, secrets: Secrets): UpstreamError {
  const status = statusIn(error);
  if (status !== undefined) return errorOfAnswer({ status, body: JSON.stringify(error) }, secrets);
  const words = isRecord(error)
    ? `${textIn(error, 'type') ?? ''} ${textIn(error, 'code') ?? ''}`
    : '';
  const kind = KIND_BY_WORD.find(([word]) => word.test(words))?.[1] ?? 'invalid-request';
  return new UpstreamError({
    kind,
    retryable: RETRYABLE_KINDS.has(kind),
    ...withVendorText(
      msg`The provider reported an error. Try again, or check the model’s settings.`,
      messageOf(error),
      secrets,
    ),
  });
}

function statusIn(error: unknown): number | undefined {
  if (!isRecord(error)) return undefined;
  const status = [error['status'], error['code'], error['http_code']].map(Number);
  return status.find((number) => number >= 400 && number < 600);
}

/**
 * Translates a failure of the call itself. A refused address stays what it is. The address of a redirect, which is the
 * service's own text, is left out when it repeats the key of the call.
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

/** The error text of a JSON body in any of the vendors' forms; other text as it is. */
function messageIn(body: string): string {
  try {
    return messageOf(JSON.parse(body));
  } catch {
    return body;
  }
}

function messageOf(json: unknown): string {
  if (typeof json === 'string') return json;
  if (!isRecord(json)) return '';
  const fields = ['error', 'message', 'msg', 'detail', 'error_msg', 'errors'];
  const found = fields
    .map((field) => json[field])
    .find((value) => value !== undefined && value !== null);
  return isRecord(found) ? messageOf(found) : firstText(found, json);
}

function firstText(found: unknown, json: JsonRecord): string {
  if (typeof found === 'string') return found;
  return found === undefined ? (textIn(json, 'code') ?? '') : JSON.stringify(found);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own error quotes the text, which may repeat the key.
    throw protocolError(msg`The provider sent something that is not JSON.`);
  }
}

/** The object that an event or a line of a stream holds. Throws UpstreamError (protocol). */
export function parseRecord(text: string): JsonRecord {
  const record = parseJson(text);
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

/**
 * Reads Retry-After (RFC 9110, 10.2.3): seconds, or an HTTP date. Answers milliseconds from now, never
 * negative; undefined if there is none or it cannot be read.
 */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  const value = header?.trim() ?? '';
  if (value === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
