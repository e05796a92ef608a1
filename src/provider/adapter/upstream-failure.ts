import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { isRecord, textIn } from './json-fields.js';
import type { JsonRecord } from './json-fields.js';
import { retryAfterMs } from './retry-after.js';
import { safeText } from './safe-text.js';
import type { Secrets } from './safe-text.js';
import { UpstreamError } from './upstream.error.js';
import type { UpstreamErrorKind } from './upstream.error.js';

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

function leadOfStatus(status: number): string {
  const known: Readonly<Record<number, string>> = {
    401: 'The provider refused the API key (401). Check the key of this model.',
    402: 'The provider asks for payment (402). Check the balance of the account there.',
    403: 'The provider does not allow this (403). Check the key of this model and what it may use.',
    404: 'The provider does not know this address or model (404). Check the service address and the model id.',
    413: 'The request is too large for the provider (413). Shorten the conversation.',
    429: 'The provider’s rate limit or quota is used up (429). Wait a moment, or raise the limit there.',
  };
  if (known[status] !== undefined) return known[status];
  return status >= 500 || status === 408
    ? `The provider is overloaded or failing (${status}). Try again in a moment.`
    : `The provider rejected the request (${status}). Check the model id and its settings.`;
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
      'The provider reported an error. Try again, or check the model’s settings.',
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

/** Translates a failure of the call itself. A refused address stays what it is. */
export function upstreamErrorOf(error: unknown): Error {
  if (error instanceof UpstreamError || error instanceof ForbiddenAddressError) return error;
  if (!(error instanceof OutboundError)) {
    return error instanceof Error ? error : new Error('Unknown failure', { cause: error });
  }
  return new UpstreamError({
    kind: KIND_OF_OUTBOUND[error.kind],
    retryable: error.retryable,
    message: error.message.replace(/ to https?:\/\/[^\s,]+/, ''),
    cause: error,
  });
}

const KIND_OF_OUTBOUND: Readonly<Record<OutboundErrorKind, UpstreamErrorKind>> = {
  connect: 'connection',
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
  lead: string,
  text: string,
  secrets: Secrets,
): { readonly message: string; readonly vendorText?: string } {
  const vendorText = safeText(text, secrets);
  if (vendorText === '') return { message: lead };
  return { message: `${lead} It said: ${vendorText}`, vendorText };
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
