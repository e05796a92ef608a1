import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { AuditChain, AuditLog } from '../audit/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { inTenant } from '../database/index.js';
import { Lease } from '../lease/index.js';
import { PeriodicRound } from '../queue/index.js';
import type { Swept } from '../queue/index.js';
import { SWEPT_CLASSES } from './retention.entity.js';
import type { SweptClass } from './retention.entity.js';
import { RetentionRepository } from './retention.repository.js';
import type { SubjectRule } from './retention.repository.js';

/** Records of a tenant that were last used, or made, longer ago than the days. */
export interface DueRecords {
  readonly tenantId: string;
  /** Only those of this user; null for those of all. */
  readonly userId: number | null;
  readonly days: number;
}

export interface RetentionParticipant {
  readonly recordClass: SweptClass;
  /** The installation's limit, which also counts for tenants without a rule. */
  readonly maxDays?: number;
  /** Instead, the limit of these records alone, beyond which rules of the class can be longer. */
  readonly ownMaxDays?: number;
  /** The word under which the audit entry counts what `sweep` removes; absent where the removal records entries itself. */
  readonly records?: string;
  /** Removes one batch of what is due, except of users under legal hold (notOnHold). Bound to the tenant. */
  sweep(due: DueRecords): Promise<Swept>;
}

/** Features whose records have a retention register here. */
@Injectable()
export class RetentionClasses {
  private readonly participants: RetentionParticipant[] = [];

  join(participant: RetentionParticipant): void {
    this.participants.push(participant);
  }

  of(recordClass: SweptClass): readonly RetentionParticipant[] {
    return this.participants.filter((one) => one.recordClass === recordClass);
  }

  /** The installation's limit of the class; undefined without one. */
  maxDays(recordClass: SweptClass): number | undefined {
    const limits = this.of(recordClass).flatMap(({ maxDays }) => maxDays ?? []);
    return limits.length > 0 ? Math.min(...limits) : undefined;
  }
}

/** What is due is removed within this time after it became due, plus the time that the sweep itself takes. */
const ROUND_MS = 5 * 60_000;
/** Shorter than a round, so that a process that begins its round a little early sweeps as well. 15 of them are an hour. */
const PAUSE_SECONDS = 240;
const LEASE_TIMES = { renewMs: 20_000, lostAfterMs: 50_000 };

/**
 * Removes what is due: one class of a tenant at a time, in batches, by the process that has its lease. A sweep that has removed
 * something leaves one audit entry with the counts.
 */
@Injectable()
export class RetentionSweep extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly classes: RetentionClasses,
    private readonly repository: RetentionRepository,
    private readonly audit: AuditLog,
    chain: AuditChain,
  ) {
    super(config, 'Failed to sweep what is due', ROUND_MS);
    classes.join({
      recordClass: 'audit',
      records: 'audit_entry',
      sweep: async ({ tenantId, days }) => {
        const removed = await chain.cut(tenantId, days);
        return { removed, isDone: removed === 0 };
      },
    });
  }

  /** One round over all classes and tenants. A class that fails is logged, and the next round tries again. */
  async sweep(ending?: AbortSignal, pauseSeconds = 0): Promise<void> {
    for (const recordClass of SWEPT_CLASSES) {
      const isLimited = this.classes.of(recordClass).some((one) => limitOf(one) !== undefined);
      const page = { isLimited, pauseSeconds };
      for (const tenantId of await this.repository.tenantsToSweep(recordClass, page)) {
        if (ending?.aborted || (await this.repository.isPaused())) return;
        try {
          await inTenant(tenantId, () =>
            this.sweepClass(tenantId, recordClass, pauseSeconds, ending),
          );
        } catch (error) {
          this.logger.warn({
            msg: 'Failed to sweep what is due',
            tenantId,
            recordClass,
            err: error,
          });
        }
      }
    }
  }

  protected round(ending: AbortSignal): Promise<void> {
    return this.sweep(ending, PAUSE_SECONDS);
  }

  private async sweepClass(
    tenantId: string,
    recordClass: SweptClass,
    pauseSeconds: number,
    ending: AbortSignal | undefined,
  ): Promise<void> {
    const token = randomUUID();
    if (!(await this.repository.claim(tenantId, recordClass, { token, pauseSeconds }))) return;
    const lease = new Lease(
      async () =>
        (await this.repository.renew(tenantId, recordClass, token))
          ? undefined
          : new Error('Another process has the lease of the sweep.'),
      LEASE_TIMES,
    );
    const signal = ending ? AbortSignal.any([ending, lease.signal]) : lease.signal;
    const counts = new Map<string, number>();
    let isComplete = false;
    try {
      await this.removeDue(tenantId, recordClass, counts, signal);
      isComplete = !signal.aborted;
    } finally {
      await lease.end();
      await this.recordSweep(tenantId, recordClass, counts);
      await this.repository.release(tenantId, recordClass, { token, isComplete });
    }
  }

  private async removeDue(
    tenantId: string,
    recordClass: SweptClass,
    counts: Map<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const rules = await this.repository.ofClass(tenantId, recordClass);
    for (const participant of this.classes.of(recordClass)) {
      const { records } = participant;
      for (const { userId, days } of effectiveRules(rules, limitOf(participant))) {
        for (let isDone = false; !isDone && !signal.aborted;) {
          const batch = new Map<string, number>();
          const due = { tenantId, userId, days };
          const swept = await this.audit.counting(batch, () => participant.sweep(due));
          isDone = swept.isDone;
          if (records && swept.removed > 0) batch.set(records, swept.removed);
          for (const [target, count] of batch)
            counts.set(target, (counts.get(target) ?? 0) + count);
        }
      }
    }
  }

  private async recordSweep(
    tenantId: string,
    recordClass: SweptClass,
    counts: ReadonlyMap<string, number>,
  ): Promise<void> {
    if (counts.size === 0) return;
    const removed = Object.fromEntries(counts);
    await this.audit.record(
      { tenantId },
      { action: 'delete', target: 'retention', id: recordClass, detail: { removed } },
    );
    this.logger.log({ msg: 'Swept what was due', tenantId, recordClass, removed });
  }
}

function limitOf({ maxDays, ownMaxDays }: RetentionParticipant): number | undefined {
  return maxDays ?? ownMaxDays;
}

/** The rule that counts for all records of a tenant, and those of users who keep theirs for a shorter time. */
function effectiveRules(rules: readonly SubjectRule[], maxDays: number | undefined): SubjectRule[] {
  const ofTenant = rules.find(({ userId }) => userId === null);
  const tenantDays = Math.min(ofTenant?.days ?? Infinity, maxDays ?? Infinity);
  const shorter = rules.filter(({ userId, days }) => userId !== null && days < tenantDays);
  return tenantDays === Infinity ? shorter : [{ userId: null, days: tenantDays }, ...shorter];
}
