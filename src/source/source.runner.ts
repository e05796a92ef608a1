import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { mayAny } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { inTenant, isOutage } from '../platform/database/index.js';
import { ConflictError, DomainError } from '../platform/error/index.js';
import { Lease } from '../platform/lease/index.js';
import { msg } from '../platform/message/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob, JobQueue, nextTime } from '../platform/queue/index.js';
import { UserCallers } from '../identity/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { Connectors } from './connectors.js';
import type { KnowledgeSource, SourceRun } from './source.entity.js';
import { LEASE_SECONDS, SourceRepository } from './source.repository.js';
import { SOURCE_JOB, SourceService } from './source.service.js';

const SWEEP_MS = 15_000;
const LEASE_TIMES = { renewMs: 10_000, lostAfterMs: (LEASE_SECONDS - 10) * 1_000 };
const DIED = msg`The service stopped three times during this run. Run it again, or narrow the source.`;
/** What its owner needs in the minute of a run, besides write on the base. */
const PERMISSIONS = ['system:attach:add', 'system:attach:edit', 'system:attach:remove'];

class RightsLostError extends ConflictError {
  constructor() {
    super(
      msg`The owner of the source is disabled or deleted, or may no longer change documents of the base. One who may saves the source again.`,
    );
  }
}

class LeaseLostError extends Error {
  constructor() {
    super('Another process has the run.');
  }
}

/**
 * Makes runs of connectors when they are due and runs them. The queue only hints: a claim of the row decides, and a sweep finds rows
 * that no job has announced. A run that lost its process goes on from the documents that it has put.
 */
@Injectable()
export class SourceRunner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Sources');
  private sweeps: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly repository: SourceRepository,
    private readonly sources: SourceService,
    private readonly connectors: Connectors,
    private readonly knowledge: KnowledgeService,
    private readonly callers: UserCallers,
    metrics: Metrics,
  ) {
    metrics.expiredLeases('source', () => repository.expiredLeases());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    if (this.config.embedded) await this.repository.expireRunLeases();
    this.queue.handle(SOURCE_JOB, (job, stopping) => {
      const tenantId = String(job.data['tenantId']);
      return inTenant(tenantId, () => this.take(tenantId, Number(job.data['runId']), stopping));
    });
    this.sweeps = new IntervalJob(SWEEP_MS, (stopping) => this.sweep(stopping));
    this.sweeps.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

  private async sweep(stopping: AbortSignal): Promise<void> {
    try {
      await this.repository.failExhaustedRuns(DIED);
      await this.fireDue(new Date(), stopping);
      for (const { id, tenantId } of await this.repository.unclaimedRuns()) {
        if (stopping.aborted) return;
        await this.announce(tenantId, id);
      }
    } catch (error) {
      // The next sweep tries again.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to look for due sources', err: error });
    }
  }

  /** Makes a run for each schedule that is due. Of several times that were missed, one run is made. */
  async fireDue(now: Date, stopping: AbortSignal): Promise<void> {
    for (const source of await this.repository.scheduled()) {
      if (stopping.aborted) return;
      const dueAt = nextTime(source, source.since);
      if (dueAt === null || dueAt > now) continue;
      await inTenant(source.tenantId, () => this.sources.fire(source, 'schedule', dueAt));
    }
  }

  private async announce(tenantId: string, runId: number): Promise<void> {
    await this.queue.add(SOURCE_JOB, { id: String(runId), data: { tenantId, runId } });
  }

  private async take(tenantId: string, runId: number, stopping: AbortSignal): Promise<void> {
    const token = randomUUID();
    const run = await this.repository.claimRun(tenantId, runId, token);
    if (!run) return;
    const source = await this.repository.sources.get(tenantId, run.sourceId);
    const lease = new Lease(
      () =>
        inTenant(tenantId, async () => {
          if (!(await this.repository.renewRun(tenantId, runId, token)))
            return new LeaseLostError();
          return (await this.ownerOf(source)) ? undefined : new RightsLostError();
        }),
      LEASE_TIMES,
    );
    const signal = AbortSignal.any([lease.signal, stopping]);
    try {
      const owner = await this.ownerOf(source);
      if (!owner) throw new RightsLostError();
      const isComplete = await this.connectors.run({ ...owner, source, run, signal });
      signal.throwIfAborted();
      await this.finish(owner.caller, source, run, isComplete);
    } catch (error) {
      const reason: unknown = lease.signal.aborted ? lease.signal.reason : error;
      await this.fail(run, token, reason, stopping);
    } finally {
      await lease.end();
    }
  }

  private async finish(
    caller: Caller,
    source: KnowledgeSource,
    run: SourceRun,
    isComplete: boolean,
  ): Promise<void> {
    if (!isComplete) {
      const notice = msg`A limit of the source was reached, so no document was removed. Raise it, or narrow the source.`;
      return this.repository.end(run.tenantId, run.id, 'done', notice);
    }
    for (;;) {
      const { remaining, removed } = await this.sources.finish(caller, source, run, false);
      if (remaining === 0 || removed === 0) return;
    }
  }

  private async fail(
    run: SourceRun,
    token: string,
    reason: unknown,
    stopping: AbortSignal,
  ): Promise<void> {
    const { tenantId, id } = run;
    if (reason instanceof LeaseLostError) return;
    if (reason instanceof RightsLostError) {
      return this.repository.end(tenantId, id, 'refused', reason.userMessage);
    }
    if (stopping.aborted || isOutage(reason))
      return this.repository.releaseRun(tenantId, id, token);
    if (!(reason instanceof DomainError)) {
      this.logger.error({ msg: 'Run of source failed', run: id, err: reason });
    }
    const failure =
      reason instanceof DomainError
        ? reason.userMessage
        : msg`The run failed. The log has the reason; run it again.`;
    await this.repository.end(tenantId, id, 'failed', failure);
  }

  /** The owner with the rights of now, and the base; undefined without them. */
  private async ownerOf({
    tenantId,
    userId,
    knowledgeId,
  }: KnowledgeSource): Promise<{ caller: Caller; knowledge: KnowledgeBase } | undefined> {
    const caller = userId === null ? undefined : await this.callers.working({ userId, tenantId });
    if (!caller || !PERMISSIONS.every((permission) => mayAny(caller, [permission]))) {
      return undefined;
    }
    try {
      return { caller, knowledge: await this.knowledge.writable(caller, knowledgeId) };
    } catch (error) {
      if (error instanceof DomainError && !isOutage(error)) return undefined;
      throw error;
    }
  }
}
