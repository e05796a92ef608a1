/** The right of one process to act for a run. It is lost as soon as the row has another fence. */
export interface RunClaim {
  readonly tenantId: string;
  readonly runId: string;
  /** New with every claim. */
  readonly owner: string;
  readonly fence: number;
}

/** Lifetime of a claim without renewal, by the database's clock. */
export const LEASE_SECONDS = 45;
/** Interval at which a claim is renewed. */
export const RENEW_SECONDS = 15;
/** A process that could not renew for so long stops itself, before the lease ends. */
export const STOP_AFTER_SECONDS = 30;

/** The lease belongs to another owner or to none: nothing more may be written for the run. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor({ runId, fence }: RunClaim) {
    super(`The lease of run ${runId} with fence ${fence} is lost.`);
  }
}

export const INPUT_KINDS = ['STEER', 'FOLLOW_UP'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];

/** Limits of a run; 0 means no limit of its own. Frozen when the run is created. */
export interface RunBudget {
  /** Turns of the model. */
  readonly maxIterations: number;
  readonly maxToolCalls: number;
  readonly maxInputTokens: number;
  readonly maxOutputTokens: number;
  /** Time in which a process had the run's lease; waiting does not count. */
  readonly maxWallTimeMillis: number;
}

/** Question of a run that waits for an answer. */
export interface PendingQuestion {
  readonly toolCallId: string;
  readonly text: string;
  readonly options: readonly string[];
}

/** CONTROL is the harness itself: it tells the model what happened. */
export type MessageRole = 'USER' | 'ASSISTANT' | 'TOOL' | 'CONTROL';

export interface MessageToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface MessageUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/**
 * How much of the run's conversation is no longer sent to the model whole; the messages themselves stay. Numbers are
 * sequences of messages. What is sent follows from it and the messages alone, so that a later owner of the run sends
 * the same.
 */
export interface Compaction {
  /** Outputs of tool calls up to this message sequence are replaced by a pointer. */
  readonly prunedThrough: number;
  /** Messages up to this sequence, with the results of their calls, are replaced by the summary. */
  readonly summarisedThrough: number;
  readonly summary: string;
  /** The newest message when this was decided: what the model service counted before is about another context. */
  readonly madeAfter: number;
  /** Counted tokens for each that was estimated, as far as was known then. */
  readonly ratio: number;
}

export const NOT_COMPACTED: Compaction = {
  prunedThrough: 0,
  summarisedThrough: 0,
  summary: '',
  madeAfter: 0,
  ratio: 1,
};

/** Prices of a model per million tokens, in the operator's currency. Undefined: no price configured. */
export interface ModelPrices {
  readonly inputPrice?: number | undefined;
  readonly outputPrice?: number | undefined;
}

export interface CountedTokens {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

const TOKENS_OF_A_PRICE = 1_000_000;
const COST_DIGITS = 12;

/**
 * Cost of the tokens in the currency of the prices; undefined when a required price or count is unknown, because a
 * partial sum would look complete. Tokens from the service's cache count in full: its discount for them is not recorded.
 */
export function costOf(
  { inputTokens, outputTokens }: CountedTokens,
  { inputPrice, outputPrice }: ModelPrices,
): number | undefined {
  const read = share(inputTokens, inputPrice);
  const written = share(outputTokens, outputPrice);
  return read === undefined || written === undefined ? undefined : totalCost(read, written);
}

/** The sum without what binary fractions add to it: 0.1 and 0.2 are 0.3. */
export function totalCost(one: number, other: number): number {
  return Number((one + other).toPrecision(COST_DIGITS));
}

function share(tokens: number | undefined, price: number | undefined): number | undefined {
  if (price === undefined) return undefined;
  if (price === 0 || tokens === 0) return 0;
  return tokens === undefined ? undefined : (tokens * price) / TOKENS_OF_A_PRICE;
}

// Runs: their states and the moves between them, as pure functions. The ledger applies them under the lock of the run's row,
// and the state-space test drives the very same ones.

export const RUN_STATUSES = [
  'QUEUED',
  'RUNNING',
  'WAITING_FOR_APPROVAL',
  'WAITING_FOR_INPUT',
  'SUSPENDED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
export type EndStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED';

/** In PLAN only reading, skill and plan tools are offered; in BUILD what the permission mode allows. */
export type Phase = 'PLAN' | 'BUILD';

/**
 * Reason why a parked run waits: consent to tool calls, the review of its plan, an answer to its question, the resolution
 * of uncertain effects, or a model service that stayed unavailable.
 */
export type WaitKind = 'TOOL' | 'PLAN' | 'QUESTION' | 'EFFECT' | 'PROVIDER';

export type StopReason =
  | 'END_TURN'
  | 'USER_CANCEL'
  | 'SESSION_CLOSED'
  | 'APPROVAL_REJECTED_STOP'
  | 'APPROVAL_EXPIRED'
  | 'MAX_STEPS'
  | 'MAX_TOOL_CALLS'
  | 'MAX_TOKENS'
  | 'MAX_WALL_TIME'
  | 'LOOP_DETECTED'
  | 'FORMAT_ERRORS'
  | 'CALLS_REFUSED'
  | 'CONTEXT_OVERFLOW'
  | 'MODEL_AUTH'
  | 'MODEL_NOT_FOUND'
  | 'MODEL_REFUSED'
  | 'WORKSPACE_GONE'
  | 'PERMISSION_REVOKED'
  | 'RECOVERY_EXHAUSTED'
  | 'INTERNAL';

/** None: no process holds the run. Expired: its owner has not renewed it in time. */
export type LeaseState = 'NONE' | 'HELD' | 'EXPIRED';

export interface RunState {
  readonly status: RunStatus;
  readonly phase: Phase;
  readonly waitKind: WaitKind | null;
  /** A new owner reconciles what a lost one has left; until then nothing else happens. */
  readonly recovering: boolean;
  readonly cancelRequested: boolean;
  readonly recoveryAttempts: number;
  /** Grows with every claim; a write with another fence than the row's is refused. */
  readonly fence: number;
  readonly lease: LeaseState;
}

export type RunMove =
  | { readonly type: 'claim' }
  | { readonly type: 'recovered' }
  | { readonly type: 'park'; readonly waitKind: WaitKind }
  | { readonly type: 'resume'; readonly phase?: Phase }
  | { readonly type: 'build' }
  | { readonly type: 'release' }
  | { readonly type: 'request-cancel' }
  | { readonly type: 'end'; readonly status: EndStatus };

/** Maximum number of recoveries of a run before it ends as RECOVERY_EXHAUSTED. */
export const MAX_RECOVERIES = 5;

export class IllegalMoveError extends Error {
  override readonly name = 'IllegalMoveError';

  constructor(state: RunState, move: RunMove) {
    const { status, waitKind, lease } = state;
    super(
      `A run that is ${status} (${waitKind ?? 'no wait'}, lease ${lease}) cannot ${move.type}.`,
    );
  }
}

/** Nothing was written: the run is to be cancelled, and can neither be parked nor go back into the queue. */
export class CancelRequestedError extends Error {
  override readonly name = 'CancelRequestedError';

  constructor() {
    super('The run is to be cancelled: end it.');
  }
}

const ENDED: readonly RunStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED'];
const PARKED: Readonly<Record<WaitKind, RunStatus>> = {
  TOOL: 'WAITING_FOR_APPROVAL',
  PLAN: 'WAITING_FOR_INPUT',
  QUESTION: 'WAITING_FOR_INPUT',
  EFFECT: 'SUSPENDED',
  PROVIDER: 'SUSPENDED',
};

export function isEnded(status: RunStatus): status is EndStatus {
  return ENDED.includes(status);
}

/** A parked run belongs to no process: a restart cannot harm it. */
export function isParked({ waitKind }: RunState): boolean {
  return waitKind !== null;
}

/** True for a run that waits for an owner, or whose owner is lost. */
function isClaimable({ status, lease }: RunState): boolean {
  return status === 'QUEUED' ? lease === 'NONE' : status === 'RUNNING' && lease !== 'HELD';
}

/** True when the next claim is one too many: the run must be ended as RECOVERY_EXHAUSTED instead. */
function isExhausted(state: RunState): boolean {
  return state.status === 'RUNNING' && state.recoveryAttempts >= MAX_RECOVERIES;
}

/** Decides how a process that wants to claim the run proceeds. */
export function claimOf(state: RunState): 'leave' | 'cancel' | 'give-up' | 'claim' {
  if (!isClaimable(state)) return 'leave';
  if (state.cancelRequested) return 'cancel';
  return isExhausted(state) ? 'give-up' : 'claim';
}

/** How a run ends that was to end so: once a cancel was asked for, in no other way than by it. */
export function endOf({ cancelRequested }: RunState, wished: EndStatus): EndStatus {
  return cancelRequested ? 'CANCELLED' : wished;
}

/** A cancel of such a run takes effect at once. */
export function endsAtOnce({ status, lease }: RunState): boolean {
  return status !== 'RUNNING' || lease !== 'HELD';
}

/**
 * The state after the move. IllegalMoveError when the state does not allow it; CancelRequestedError for a move that
 * would let a run wait which is to be cancelled.
 */
export function moved(state: RunState, move: RunMove): RunState {
  if (isEnded(state.status)) throw new IllegalMoveError(state, move);
  switch (move.type) {
    case 'claim':
      return claimed(state, move);
    case 'end':
      if (endOf(state, move.status) !== move.status) throw new CancelRequestedError();
      return { ...unheld(state), status: move.status, waitKind: null, recovering: false };
    case 'request-cancel':
      if (endsAtOnce(state)) throw new IllegalMoveError(state, move);
      return { ...state, cancelRequested: true };
    case 'resume':
      if (!isParked(state)) throw new IllegalMoveError(state, move);
      return { ...state, status: 'QUEUED', waitKind: null, phase: move.phase ?? state.phase };
    default:
      return movedByOwner(state, move);
  }
}

function movedByOwner(
  state: RunState,
  move: Extract<RunMove, { type: 'recovered' | 'park' | 'build' | 'release' }>,
): RunState {
  if (state.status !== 'RUNNING' || state.lease !== 'HELD') throw new IllegalMoveError(state, move);
  switch (move.type) {
    case 'recovered':
      return { ...state, recovering: false };
    case 'build':
      return { ...state, phase: 'BUILD' };
    case 'park':
      if (state.cancelRequested) throw new CancelRequestedError();
      return {
        ...unheld(state),
        status: PARKED[move.waitKind],
        waitKind: move.waitKind,
        recovering: false,
      };
    case 'release':
      if (state.cancelRequested) throw new CancelRequestedError();
      return { ...unheld(state), status: 'QUEUED' };
  }
}

function claimed(state: RunState, move: RunMove): RunState {
  if (claimOf(state) !== 'claim') throw new IllegalMoveError(state, move);
  const lost = state.status === 'RUNNING';
  return {
    ...state,
    status: 'RUNNING',
    lease: 'HELD',
    fence: state.fence + 1,
    recovering: lost || state.recovering,
    recoveryAttempts: state.recoveryAttempts + (lost ? 1 : 0),
  };
}

function unheld(state: RunState): RunState {
  return { ...state, lease: 'NONE' };
}
