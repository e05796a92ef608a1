import type { ChatProtocolName, UpstreamErrorKind } from '../../src/provider/index.js';

/** Statuses by which a service refuses a call, what they mean, and whether the same call may succeed a moment later. */
export const REFUSALS: readonly (readonly [
  status: number,
  kind: UpstreamErrorKind,
  retryable: boolean,
])[] = [
  [400, 'invalid-request', false],
  [401, 'authentication', false],
  [403, 'authentication', false],
  [404, 'not-found', false],
  [408, 'timeout', true],
  [413, 'invalid-request', false],
  [422, 'invalid-request', false],
  [429, 'rate-limit', true],
  [500, 'overloaded', true],
  [503, 'overloaded', true],
  [504, 'timeout', true],
  [529, 'overloaded', true],
];

/** A way in which the simulator fails a call that is to be streamed. */
export interface StreamFault {
  /** In the name of the model. */
  readonly words: string;
  readonly kind: UpstreamErrorKind;
  /** What can be read before the failure. */
  readonly text: string;
  /** Nothing of a stream comes, not even an event without text. */
  readonly isRefusal?: boolean;
  /** It is noticed by the limit of silence alone. */
  readonly isSilent?: boolean;
  /** Those in which it is one; all when absent. */
  readonly protocols?: readonly ChatProtocolName[];
}

/**
 * Every way in which a stream fails. The contract suite of the adapters runs them, and the suites of fallbacks run them again
 * with a model that stands in.
 */
const STREAM_FAULTS: readonly StreamFault[] = [
  ...REFUSALS.map(([status, kind]): StreamFault => ({
    ...{ words: `status-${status}`, kind, text: '', isRefusal: true },
  })),
  { words: 'status-429--retryafter-7', kind: 'rate-limit', text: '', isRefusal: true },
  { words: 'leak', kind: 'authentication', text: '', isRefusal: true },
  { words: 'hold', kind: 'timeout', text: '', isRefusal: true, isSilent: true },
  { words: 'chunks-20--cut-0', kind: 'cut', text: '' },
  { words: 'chunks-20--reset-0', kind: 'connection', text: '' },
  { words: 'chunks-20--malformed-0', kind: 'protocol', text: '' },
  { words: 'chunks-20--error-0', kind: 'overloaded', text: '' },
  { words: 'chunks-20--error-0--onewrite', kind: 'overloaded', text: '' },
  { words: 'chunks-20--stall-0', kind: 'timeout', text: '', isSilent: true },
  { words: 'huge', kind: 'protocol', text: '' },
  { words: 'chunks-20--cut-3', kind: 'cut', text: 'tok0 tok1 tok2' },
  { words: 'chunks-20--reset-3', kind: 'connection', text: 'tok0 tok1 tok2' },
  { words: 'chunks-20--malformed-3', kind: 'protocol', text: 'tok0 tok1 tok2' },
  { words: 'chunks-20--error-3', kind: 'overloaded', text: 'tok0 tok1 tok2' },
  // What came in the same read as the failure is kept.
  { words: 'chunks-20--error-5--onewrite', kind: 'overloaded', text: 'tok0 tok1 tok2 tok3 tok4' },
  { words: 'chunks-20--cut-2--bytesplit', kind: 'cut', text: 'tok0 tok1' },
  { words: 'chunks-3--error-1--leak', kind: 'overloaded', text: 'tok0' },
  { words: 'chunks-20--stall-2', kind: 'timeout', text: 'tok0 tok1', isSilent: true },
  // Elsewhere the finish reason stands before the end mark, which is not needed then.
  { words: 'chunks-3--nodone', kind: 'cut', text: 'tok0 tok1 tok2', protocols: ['ollama'] },
];

/** Those of a protocol; of all protocols without one. */
export function streamFaults(protocol?: ChatProtocolName): readonly StreamFault[] {
  return protocol === undefined
    ? STREAM_FAULTS
    : STREAM_FAULTS.filter(({ protocols = [protocol] }) => protocols.includes(protocol));
}

/** Limits of a call that meets the fault. */
export function limitsOf({ isSilent = false }: Pick<StreamFault, 'isSilent'>) {
  return { connectMs: 20_000, idleMs: isSilent ? 2_000 : 20_000, totalMs: 50_000 };
}
