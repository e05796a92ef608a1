import { english, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { DomainError } from '../error/index.js';

/** The setting that allows private networks; error messages name it. */
const SETTING = 'ALLOW_PRIVATE_MODEL_HOSTS';
/** The setting that lists the hosts that may be called; error messages name it. */
const HOSTS_SETTING = 'OUTBOUND_ALLOWED_HOSTS';

/**
 * An address that Plinth refuses to call. `rule` names the reason. The message contains neither host nor IP address,
 * because users of a model need not know its address.
 */
export class ForbiddenAddressError extends DomainError {
  readonly code = 400;
  readonly rule: string;

  private constructor(rule: Message, message: Message) {
    super(message, { data: { rule: english(rule) } });
    this.rule = english(rule);
  }

  /** The error for an address that no setting allows. */
  static always(
    rule: Message,
    advice = msg`Enter the public address of the service.`,
  ): ForbiddenAddressError {
    return new ForbiddenAddressError(rule, msg`This address is refused (${rule}). ${advice}`);
  }

  /** The error for an address that the operator can allow. */
  static unlessAllowed(rule: Message): ForbiddenAddressError {
    return new ForbiddenAddressError(
      rule,
      msg`This address is refused (${rule}). An operator can allow it with ${SETTING}: its CIDR, its host name, or *.`,
    );
  }

  /** The error for a host that is not among those that the operator lists. */
  static hostNotListed(): ForbiddenAddressError {
    const rule = msg`host that is not listed`;
    return new ForbiddenAddressError(
      rule,
      msg`This address is refused (${rule}). An operator can allow its host with ${HOSTS_SETTING}.`,
    );
  }
}

export type OutboundErrorKind =
  | 'connect'
  /** The proxy cannot be reached, or refuses. */
  | 'proxy'
  | 'dns'
  | 'tls'
  | 'timeout-connect'
  | 'timeout-idle'
  | 'timeout-total'
  | 'reset'
  | 'aborted'
  | 'redirect'
  | 'too-large'
  /** The answer is not HTTP. */
  | 'protocol'
  /** The request cannot be sent, for example because of a header value. */
  | 'request';

const MESSAGES: Record<OutboundErrorKind, Message> = {
  connect: msg`The service could not be reached. Check its address and that it is running.`,
  proxy: msg`The proxy could not be used. Check HTTPS_PROXY and HTTP_PROXY.`,
  dns: msg`The host name of the service could not be resolved. Check the address.`,
  tls: msg`The service’s certificate could not be verified. Check the address and the certificate.`,
  'timeout-connect': msg`Connecting to the service timed out. Check its address, or try again.`,
  'timeout-idle': msg`The service sent nothing for too long. Try again.`,
  'timeout-total': msg`The service took too long to answer. Try again, or ask for less.`,
  reset: msg`The service closed the connection. Try again.`,
  aborted: msg`The call was cancelled.`,
  redirect: msg`The service answered with a redirect, which is not followed. Enter its final address.`,
  'too-large': msg`The service’s answer is too large. Ask for less.`,
  protocol: msg`The answer was not HTTP. Check the address and whether it needs https.`,
  request: msg`The request cannot be sent. Check the address and the API key for stray characters.`,
};

/**
 * The failures that a retry may resolve: the request was not delivered. An idle time-out is not one of them, because
 * a retry would wait for minutes again.
 */
const RETRYABLE: ReadonlySet<OutboundErrorKind> = new Set(['connect', 'timeout-connect', 'reset']);

/** A call that failed below HTTP, or whose answer is refused. The message names no host. */
export class OutboundError extends DomainError {
  readonly code = 500;
  readonly retryable: boolean;

  constructor(
    readonly kind: OutboundErrorKind,
    options: { cause?: unknown; detail?: Message; retryable?: boolean } = {},
  ) {
    super(options.detail ?? MESSAGES[kind], { cause: options.cause });
    this.retryable = options.retryable ?? RETRYABLE.has(kind);
  }
}

const KIND_BY_CODE: Readonly<Record<string, OutboundErrorKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout-connect',
  ETIMEDOUT: 'timeout-connect',
  UND_ERR_HEADERS_TIMEOUT: 'timeout-idle',
  UND_ERR_BODY_TIMEOUT: 'timeout-idle',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_INVALID_ARG: 'request',
  ERR_INVALID_CHAR: 'request',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ENODATA: 'dns',
  EPROTO: 'tls',
};

const TLS_CODE = /^ERR_(TLS|SSL)_|CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$/;

/** The certificate may be right, but its authority is none that this process trusts. */
const UNKNOWN_ISSUER: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);
const UNKNOWN_ISSUER_MESSAGE = msg`The certificate was issued by an unknown authority. If the service has its own, or a proxy inspects TLS, set OUTBOUND_CA_FILE to the certificate of that authority.`;

/** Translates errors of the HTTP client and the system; an error of ours passes unchanged. */
export function outboundErrorOf(error: unknown): Error {
  if (error instanceof OutboundError || error instanceof ForbiddenAddressError) return error;
  const code = codeOf(error);
  if (UNKNOWN_ISSUER.has(code)) {
    return new OutboundError('tls', { cause: error, detail: UNKNOWN_ISSUER_MESSAGE });
  }
  // A temporary failure of the name server, unlike a name that does not exist.
  if (code === 'EAI_AGAIN') return new OutboundError('dns', { cause: error, retryable: true });
  return new OutboundError(kindOf(code), { cause: error });
}

function kindOf(code: string): OutboundErrorKind {
  if (code.startsWith('HPE_')) return 'protocol';
  if (TLS_CODE.test(code)) return 'tls';
  return KIND_BY_CODE[code] ?? 'connect';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
