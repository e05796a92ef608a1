import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { JobQueue } from '../../platform/queue/index.js';
import { english, msg } from '../../platform/message/index.js';
import { FencedError, isEnded, moved } from '../protocol/run.state.js';
import type {
  EndStatus,
  LeaseState,
  Phase,
  RunClaim,
  RunMove,
  RunState,
  StopReason,
  WaitKind,
} from '../protocol/run.state.js';
import type {
  EventDataOf,
  EventDraft,
  EventSubject,
  EventType,
  QueueReason,
  StatusData,
} from './event.catalogue.js';
import type { HarnessRun, HarnessInput } from './harness.entity.js';
import { RunRepository, RunInputRepository, SessionRepository } from './run.repository.js';
import type { LeaseChange, LockedRun, NewRun, RowChange, RunPatch } from './run.repository.js';
import { ApprovalRepository, EffectRepository } from '../../effect/index.js';
import { FileChangeRepository, UndoRepository } from './file-change.repository.js';
import { MessageRepository, ModelCallRepository } from './message.repository.js';
import { WorkspaceLockRepository } from './workspace-lock.repository.js';
import type { Message } from '../../platform/message/index.js';

/** The kind of the job that says that a run waits for an owner. */
export const RUN_JOB = 'harness.run';

/** The events with which something begins or ends to wait for a person. */
const INBOX_EVENTS: ReadonlySet<EventType> = new Set([
  'approval.requested',
  'approval.resolved',
  'approval.expired',
  'effect.resolved',
  'run.queued',
  'run.waiting_for_input',
  'run.suspended',
  'run.completed',
  'run.failed',
  'run.cancelled',
]);

/** Body of one write of a run. */
type Work<T> = (writer: RunWriter) => Promise<T> | T;

/**
 * Every change of a run. A write locks the run's row first, then does its work in the same transaction (other
 * repositories join it), and stores the run's events with their numbers last: the order of the commits is the order of
 * the numbers, and no number is left out. Readers and workers are told after the commit.
 */
@Injectable()
export class RunLedger {
  constructor(
    private readonly database: Database,
    private readonly rows: RunRepository,
    private readonly bus: EventBus,
    private readonly queue: JobQueue,
  ) {}

  /** The run as it stands, for the lease's holder; FencedError when the lease is lost. */
  async leasedRun(lease: RunClaim): Promise<HarnessRun> {
    const run = await this.rows.heldBy(lease);
    if (!run) throw new FencedError(lease);
    return run;
  }

  /**
   * A write of the lease's holder. With nothing written: FencedError when the lease is lost; CancelRequestedError when
   * the work would let a run wait that is to be cancelled.
   */
  async asOwner<T>(lease: RunClaim, work: Work<T>): Promise<T> {
    return this.database.transaction(async () => {
      const row = await this.rows.lock(lease.tenantId, lease.runId);
      const holds =
        row?.leaseState === 'HELD' && row.leaseOwner === lease.owner && row.fence === lease.fence;
      if (!holds) throw new FencedError(lease);
      return this.write(row, work, true);
    });
  }

  /**
   * A write that begins with the run itself, which then waits for an owner. Undefined, with nothing written, when the
   * session has an unfinished run, or one with the same key.
   */
  async asCreator<T>(run: NewRun, work: Work<T>): Promise<T | undefined> {
    return this.database.transaction(async () => {
      const row = await this.rows.insert(run);
      if (!row) return undefined;
      const result = await this.write(row, work, false);
      await this.announce(run);
      return result;
    });
  }

  /** A write of any other caller, such as an approver. NotFoundError when there is no such run. */
  async updateRun<T>(tenantId: string, runId: string, work: Work<T>): Promise<T> {
    return this.database.transaction(async () => {
      const row = await this.rows.lock(tenantId, runId);
      if (!row) throw new NotFoundError(msg`The run`);
      return this.write(row, work, false);
    });
  }

  /** The same, or undefined while the run is locked. */
  async tryUpdateRun<T>(tenantId: string, runId: string, work: Work<T>): Promise<T | undefined> {
    return this.database.transaction(async () => {
      const row = await this.rows.lockIfFree(tenantId, runId);
      return row && this.write(row, work, false);
    });
  }

  /** Stores events that change nothing else: one statement. Answers the last number; FencedError. */
  async append(lease: RunClaim, drafts: readonly EventDraft[]): Promise<number> {
    const last = await this.rows.append(lease, drafts);
    if (!last) throw new FencedError(lease);
    await this.publish(
      { tenantId: lease.tenantId, id: lease.runId, userId: last.userId },
      last.sequence,
    );
    return last.sequence;
  }

  /** Tells the workers that the run waits for an owner, once the open transaction is committed. */
  private async announce({ tenantId, id }: Pick<HarnessRun, 'tenantId' | 'id'>): Promise<void> {
    await this.database.afterCommit(() => this.queue.add(RUN_JOB, { id, data: { tenantId } }));
  }

  private async write<T>(row: LockedRun, work: Work<T>, isOwner: boolean): Promise<T> {
    const writer = new RunWriter(row, isOwner);
    const result = await work(writer);
    if (!writer.isChanged) return result;
    await this.rows.change(row, writer.change);
    const { drafts, run } = writer;
    if (drafts.length > 0) {
      const last = row.nextEventSequence + drafts.length - 1;
      await this.database.afterCommit(() => this.publish(row, last));
    }
    if (drafts.some(({ type }) => INBOX_EVENTS.has(type))) {
      const { tenantId, userId } = row;
      await this.database.afterCommit(() =>
        this.bus.publish('harness.inbox', { tenantId, userId }),
      );
    }
    if (run.status === 'QUEUED' && row.status !== 'QUEUED') await this.announce(run);
    if (run.cancelRequestedAt && !row.cancelRequestedAt) {
      const { tenantId, id: runId } = row;
      await this.database.afterCommit(() =>
        this.bus.publish('harness.cancel', { tenantId, runId }),
      );
    }
    return result;
  }

  private async publish(
    { tenantId, id: runId, userId }: Pick<HarnessRun, 'tenantId' | 'id' | 'userId'>,
    sequence: number,
  ): Promise<void> {
    await this.bus.publish('harness.event', { tenantId, runId, userId, sequence });
  }
}

/** Lease state after a change of the lease. Changes that retain it have no entry. */
const LEASE_AFTER: Readonly<Partial<Record<LeaseChange['type'], LeaseState>>> = {
  drop: 'NONE',
  revoke: 'NONE',
  take: 'HELD',
};

/** Outcome of a run. The error is for people. */
export interface RunEnd {
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly error?: { readonly code: string; readonly message: Message };
}

/**
 * One transaction's changes of one run, whose row is locked: moves, columns and events are collected and written
 * together when the work is done, so that events are numbered in the order of the commits.
 */
export class RunWriter {
  private patch: RunPatch = {};
  private lease: LeaseChange = { type: 'keep' };
  readonly drafts: EventDraft[] = [];

  /** `isOwner`: the writer holds the run's lease. */
  constructor(
    private readonly row: LockedRun,
    private readonly isOwner: boolean,
  ) {}

  /** Whether another process has the run, or had it until it was lost: it may not know yet, and still act. */
  get isAnothers(): boolean {
    return this.row.leaseOwner !== null && !this.isOwner;
  }

  /** The run as it will be written. */
  get run(): HarnessRun {
    return { ...this.row, ...this.patch };
  }

  /** Its state, as the moves between states know it. */
  get current(): RunState {
    const { run } = this;
    const { status, phase, waitKind, recovering, recoveryAttempts, fence } = run;
    const cancelRequested = run.cancelRequestedAt !== null && !isEnded(status);
    const lease = LEASE_AFTER[this.lease.type] ?? this.row.leaseState;
    return { status, phase, waitKind, recovering, cancelRequested, recoveryAttempts, fence, lease };
  }

  /** The pending change. */
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

  /** Status data of events. Increments the revision first if the status has just changed. */
  get statusData(): StatusData {
    const { status, revision, phase, waitKind } = this.run;
    return { status, revision, phase, ...(waitKind && { waitKind }) };
  }

  /** Takes the run up. Adds run.started, or run.recovering when its last owner was lost. */
  claim(owner: string, boot: string): void {
    this.move({ type: 'claim' });
    this.lease = { type: 'take', owner, boot };
    this.set({ reason: null });
    const { recovering, recoveryAttempts: attempt } = this.run;
    if (recovering) {
      this.event('run.recovering', { ...this.statusData, attempt, reason: 'owner_lost' });
    } else this.event('run.started', this.statusData);
  }

  recovered(settled: EventDataOf['run.recovered']['settled']): void {
    const attempt = this.run.recoveryAttempts;
    this.move({ type: 'recovered' });
    this.event('run.recovered', { ...this.statusData, attempt, settled });
  }

  /** Switches from planning to building, under the same owner. */
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
    const parked = this.run.waitKind !== null;
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
      errorMessage: error?.message ?? null,
    });
    const data = {
      ...this.statusData,
      stopReason,
      ...(error && { error: { ...error, message: english(error.message) } }),
    };
    if (status === 'COMPLETED') this.event('run.completed', data);
    else if (status === 'FAILED') this.event('run.failed', data);
    else this.event('run.cancelled', data);
  }

  private move(move: RunMove): void {
    const { lease, cancelRequested: _, ...columns } = moved(this.current, move);
    this.set({ ...columns, revision: this.run.revision + 1 });
    if (lease === 'NONE' && this.row.leaseOwner !== null) {
      this.lease = { type: this.isAnothers ? 'revoke' : 'drop' };
    }
  }
}

/** Everything that is stored of a run. Rows of the run itself change through `ledger`, which the others join. */
@Injectable()
export class RunStore {
  constructor(
    readonly ledger: RunLedger,
    readonly runs: RunRepository,
    readonly sessions: SessionRepository,
    readonly inputs: RunInputRepository,
    readonly effects: EffectRepository,
    readonly approvals: ApprovalRepository,
    readonly messages: MessageRepository,
    readonly modelCalls: ModelCallRepository,
    readonly fileChanges: FileChangeRepository,
    readonly undos: UndoRepository,
    readonly locks: WorkspaceLockRepository,
  ) {}

  /** Whether STEER inputs are pending. */
  async hasSteers(run: HarnessRun): Promise<boolean> {
    return (await this.inputs.pending(run)).some(isSteer);
  }

  /**
   * Appends pending inputs as messages, STEER alone or all, within an open write: no further input can arrive meanwhile.
   * True when there was any.
   */
  async consumeInputs(writer: RunWriter, which: 'STEER' | 'ANY'): Promise<boolean> {
    const { run } = writer;
    const pending = await this.inputs.pending(run);
    const consumed = which === 'ANY' ? pending : pending.filter(isSteer);
    if (consumed.length === 0) return false;
    for (const { id: inputId, kind, content } of consumed) {
      const metadata = { kind, inputId };
      const messageId = await this.messages.append(run, { role: 'USER', content, metadata });
      writer.event('input.consumed', { inputId, kind, messageId });
    }
    await this.inputs.consume(
      run,
      consumed.map(({ id }) => id),
    );
    return true;
  }
}

function isSteer({ kind }: HarnessInput): boolean {
  return kind === 'STEER';
}
