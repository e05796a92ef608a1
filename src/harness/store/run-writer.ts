import { isEnded, moved } from '../protocol/run.state.js';
import type {
  EndStatus,
  Phase,
  RunMove,
  RunState,
  StopReason,
  WaitKind,
} from '../protocol/run.state.js';
import type { HarnessRun } from './harness.entity.js';
import type {
  EventDataOf,
  EventDraft,
  EventSubject,
  EventType,
  QueueReason,
  WireError,
} from './event.catalogue.js';
import type { LeaseChange, LockedRun, RowChange, RunPatch } from './run.repository.js';

/** How a run ends. The error is what a person reads. */
export interface RunEnd {
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly error?: WireError;
}

/**
 * One transaction's changes of one run, whose row is locked: moves, columns and events are collected and written
 * together when the work is done, so that events are numbered in the order of the commits.
 */
export class RunWriter {
  private state: RunState;
  private patch: RunPatch = {};
  private lease: LeaseChange = { type: 'keep' };
  readonly drafts: EventDraft[] = [];

  /** `isOwner`: the writer holds the run's lease. */
  constructor(
    private readonly row: LockedRun,
    private readonly isOwner: boolean,
  ) {
    this.state = stateOf(row);
  }

  /** Whether another process has the run, or had it until it was lost: it may not know yet, and still act. */
  get isAnothers(): boolean {
    return this.row.leaseOwner !== null && !this.isOwner;
  }

  /** The run as it will be written. */
  get run(): HarnessRun {
    return { ...this.row, ...this.patch };
  }

  get current(): RunState {
    return this.state;
  }

  /** What is to be written. */
  get change(): RowChange {
    return { patch: this.patch, lease: this.lease, drafts: this.drafts };
  }

  get isChanged(): boolean {
    return (
      this.drafts.length > 0 || this.lease.type !== 'keep' || Object.keys(this.patch).length > 0
    );
  }

  set(patch: RunPatch): void {
    this.patch = { ...this.patch, ...patch };
  }

  event<Type extends EventType>(type: Type, data: EventDataOf[Type], subject?: EventSubject): void {
    this.drafts.push({ type, data, ...(subject && { subject }) } as EventDraft);
  }

  events(drafts: readonly EventDraft[]): void {
    this.drafts.push(...drafts);
  }

  /** What events of the run's status carry. Grows the revision first where the status has just changed. */
  get statusData(): Pick<HarnessRun, 'status' | 'revision' | 'phase'> & { waitKind?: WaitKind } {
    const { status, revision, phase, waitKind } = this.run;
    return { status, revision, phase, ...(waitKind && { waitKind }) };
  }

  /** Takes the run up. Adds run.started, or run.recovering when its last owner was lost. */
  claim(owner: string, boot: string): void {
    this.move({ type: 'claim' });
    this.lease = { type: 'take', owner, boot };
    this.set({ reason: null });
    if (this.state.recovering) {
      const attempt = this.state.recoveryAttempts;
      this.event('run.recovering', { ...this.statusData, attempt, reason: 'owner_lost' });
    } else this.event('run.started', this.statusData);
  }

  recovered(settled: EventDataOf['run.recovered']['settled']): void {
    const attempt = this.state.recoveryAttempts;
    this.move({ type: 'recovered' });
    this.event('run.recovered', { ...this.statusData, attempt, settled });
  }

  /** From planning to building, under the same owner. */
  build(): void {
    this.move({ type: 'build' });
  }

  /**
   * Parks the run; the event that says so is the caller's, because each says more than the status. CancelRequestedError
   * when the run is to be cancelled.
   */
  park(waitKind: WaitKind): void {
    this.move({ type: 'park', waitKind });
  }

  /** A parked run, or one that its owner gives back, waits for an owner. CancelRequestedError as with `park`. */
  enqueue(reason: QueueReason, phase?: Phase): void {
    const parked = this.state.waitKind !== null;
    this.move(parked ? { type: 'resume', ...(phase && { phase }) } : { type: 'release' });
    this.set({ reason, errorCode: null, errorMessage: null });
    this.event('run.queued', { ...this.statusData, reason });
  }

  requestCancel(by: number): void {
    this.move({ type: 'request-cancel' });
    this.set({ cancelRequestedAt: new Date(), cancelRequestedBy: by });
    this.event('run.cancel.requested', { ...this.statusData, code: 'USER_CANCEL_REQUESTED', by });
  }

  /** RunEnding.end closes what is open first. CancelRequestedError when the run is to be cancelled and this is no cancel. */
  end({ status, stopReason, error }: RunEnd): void {
    this.move({ type: 'end', status });
    this.set({
      stopReason,
      endedAt: new Date(),
      reason: null,
      question: null,
      errorCode: error?.code ?? null,
      errorMessage: error?.message.slice(0, LONGEST_ERROR) ?? null,
    });
    const data = { ...this.statusData, stopReason, ...(error && { error }) };
    if (status === 'COMPLETED') this.event('run.completed', data);
    else if (status === 'FAILED') this.event('run.failed', data);
    else this.event('run.cancelled', data);
  }

  private move(move: RunMove): void {
    this.state = moved(this.state, move);
    const { status, phase, waitKind, recovering, recoveryAttempts, fence } = this.state;
    const revision = this.run.revision + 1;
    this.set({ status, phase, waitKind, recovering, recoveryAttempts, fence, revision });
    if (this.state.lease === 'NONE' && this.row.leaseOwner !== null) {
      this.lease = { type: this.isAnothers ? 'revoke' : 'drop' };
    }
  }
}

/** What the column holds. */
const LONGEST_ERROR = 2_000;

function stateOf(row: LockedRun): RunState {
  const { status, phase, waitKind, recovering, recoveryAttempts, fence, leaseState } = row;
  const cancelRequested = row.cancelRequestedAt !== null && !isEnded(status);
  return {
    status,
    phase,
    waitKind,
    recovering,
    cancelRequested,
    recoveryAttempts,
    fence,
    lease: leaseState,
  };
}
