import type { Message } from '../../platform/message/index.js';
import { DomainError } from '../../platform/error/index.js';
import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { msg, withTexts } from '../../platform/message/index.js';
import { maskSecrets, repeatsSecret } from './safe-text.js';
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

export function kindOf(
  meaning: VendorMeaning | undefined,
  status: number | undefined,
): UpstreamErrorKind {
  // OpenAI reports it so, and its clients know 429 `insufficient_quota`.
  if (meaning === 'exhausted' || status === 402) return 'rate-limit';
  if (meaning === 'refused-content') return 'invalid-request';
  if (meaning !== undefined) return meaning;
  return status === undefined ? 'invalid-request' : kindOfStatus(status);
}

export function mayPass(meaning: VendorMeaning | undefined, status: number | undefined): boolean {
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

export function leadOf(meaning: VendorMeaning | undefined, status: number | undefined): Message {
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
    message: error.kind === 'redirect' ? withoutTarget(error.userMessage) : error.userMessage,
    cause: error,
  });
}

/** The message about a redirect without the address, which is the only message in it. */
function withoutTarget({ template, values }: Message): Message {
  return { template, values: values.map((value) => (typeof value === 'object' ? '' : value)) };
}

function withoutKey(error: unknown, secrets: Secrets): unknown {
  if (error instanceof UpstreamError) {
    if (!repeatsSecret(error.message, secrets)) return error;
    return error.withMessage(withTexts(error.userMessage, (text) => maskSecrets(text, secrets)));
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
