import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { JobQueue } from '../../platform/queue/index.js';
import type { EventDraft } from './event.catalogue.js';
import { FencedError } from '../protocol/lease.js';
import type { RunLease } from '../protocol/lease.js';
import type { HarnessRun } from './harness.entity.js';
import { RunRepository } from './run.repository.js';
import type { LockedRun, NewRun } from './run.repository.js';
import { RunWriter } from './run-writer.js';

/** The kind of the job that says that a run waits for an owner. */
export const RUN_JOB = 'harness.run';

/** What one write of a run does. */
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
  async held(lease: RunLease): Promise<HarnessRun> {
    const run = await this.rows.heldBy(lease);
    if (!run) throw new FencedError(lease);
    return run;
  }

  /**
   * A write of the lease's holder. With nothing written: FencedError when the lease is lost; CancelRequestedError when
   * the work would let a run wait that is to be cancelled.
   */
  async asOwner<T>(lease: RunLease, work: Work<T>): Promise<T> {
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
  async asOther<T>(tenantId: string, runId: string, work: Work<T>): Promise<T> {
    return this.database.transaction(async () => {
      const row = await this.rows.lock(tenantId, runId);
      if (!row) throw new NotFoundError('The run');
      return this.write(row, work, false);
    });
  }

  /** The same, or undefined while the run is locked. */
  async asOtherIfFree<T>(tenantId: string, runId: string, work: Work<T>): Promise<T | undefined> {
    return this.database.transaction(async () => {
      const row = await this.rows.lockIfFree(tenantId, runId);
      return row && this.write(row, work, false);
    });
  }

  /** Stores events that change nothing else: one statement. Answers the last number; FencedError. */
  async append(lease: RunLease, drafts: readonly EventDraft[]): Promise<number> {
    const sequence = await this.rows.append(lease, drafts);
    if (sequence === undefined) throw new FencedError(lease);
    await this.publish(lease.tenantId, lease.runId, sequence);
    return sequence;
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
      await this.database.afterCommit(() => this.publish(row.tenantId, row.id, last));
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

  private async publish(tenantId: string, runId: string, sequence: number): Promise<void> {
    await this.bus.publish('harness.event', { tenantId, runId, sequence });
  }
}
