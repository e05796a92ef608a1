import { DomainError } from '../../platform/error/index.js';
import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import {
  InvalidAddressError,
  UnsupportedProviderError,
  UpstreamError,
} from '../../provider/index.js';
import type { UpstreamErrorKind } from '../../provider/index.js';
import { UnreadableCredentialError } from '../model.errors.js';
import type { Fault } from './diagnosis.view.js';

/** What a failure means for the administrator of the model. */
export interface Finding {
  readonly fault: Fault;
  readonly advice: string;
  readonly status?: number;
}

const FAULT_OF_OUTBOUND: Readonly<Record<OutboundErrorKind, Fault>> = {
  dns: 'dns',
  tls: 'tls',
  connect: 'connection',
  reset: 'connection',
  'timeout-connect': 'connection',
  'timeout-idle': 'timeout',
  'timeout-total': 'timeout',
  aborted: 'timeout',
  redirect: 'path',
  protocol: 'connection',
  'too-large': 'path',
  request: 'key',
};

const FAULT_OF_UPSTREAM: Readonly<Record<UpstreamErrorKind, Fault>> = {
  authentication: 'key',
  'not-found': 'path',
  'rate-limit': 'rate-limit',
  overloaded: 'provider',
  'invalid-request': 'provider',
  timeout: 'timeout',
  connection: 'connection',
  protocol: 'path',
  content: 'provider',
  cut: 'provider',
  aborted: 'timeout',
};

const ADVICE: Partial<Record<Fault, string>> = {
  path: 'The service answers, but not at this path. Compare the URL with the provider’s documentation: often /v1 or another prefix is missing or too much.',
  model:
    'Address and key are right, but the provider does not know this model id. Compare modelName with the provider’s list of models.',
};

/** Throws the error again when it is not one that a diagnosis can explain. */
export function findingOf(error: unknown): Finding {
  if (error instanceof UpstreamError) return upstreamFinding(error);
  if (error instanceof OutboundError) {
    return { fault: FAULT_OF_OUTBOUND[error.kind], advice: error.message };
  }
  const fault = faultOfRecord(error);
  if (!fault) throw error;
  return { fault, advice: error instanceof DomainError ? error.message : '' };
}

function faultOfRecord(error: unknown): Fault | undefined {
  if (error instanceof ForbiddenAddressError || error instanceof InvalidAddressError)
    return 'address';
  if (error instanceof UnsupportedProviderError) return 'unsupported';
  if (error instanceof UnreadableCredentialError) return 'key';
  return undefined;
}

function upstreamFinding(error: UpstreamError): Finding {
  // A failure below HTTP carries the finer reason.
  if (error.cause instanceof OutboundError) return findingOf(error.cause);
  const fault = namesModel(error) ? 'model' : FAULT_OF_UPSTREAM[error.kind];
  return {
    fault,
    advice: ADVICE[fault] ?? error.message,
    ...(error.status !== undefined && { status: error.status }),
  };
}

/**
 * Services name the model in the error of a model id that they do not know (404, sometimes 400), whereas a wrong path
 * gets a web page, an empty answer or the path itself.
 */
function namesModel({ kind, status, vendorText = '' }: UpstreamError): boolean {
  if (kind !== 'not-found' && status !== 400) return false;
  return (
    /model/i.test(vendorText) &&
    /not.?(found|exist|support)|unknown|no such|invalid|does ?n.t/i.test(vendorText)
  );
}
