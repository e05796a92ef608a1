import { DomainError } from '../../platform/error/index.js';

export type UpstreamErrorKind =
  | 'authentication'
  | 'not-found'
  | 'rate-limit'
  | 'overloaded'
  | 'invalid-request'
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
  readonly message: string;
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
}

export function abortedError(): UpstreamError {
  return new UpstreamError({ kind: 'aborted', message: 'The call was cancelled.' });
}
