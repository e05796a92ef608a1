import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { mayAny } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database, inTenant, isOutage } from '../platform/database/index.js';
import { DomainError } from '../platform/error/index.js';
import { Lease } from '../platform/lease/index.js';
import { msg } from '../platform/message/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob, JobQueue } from '../platform/queue/index.js';
import { UserCallers } from '../identity/index.js';
import type { ScheduleFire } from './schedule.entity.js';
import { LEASE_SECONDS, ScheduleRepository } from './schedule.repository.js';
import { nextDueOf, SCHEDULE_JOB, ScheduleService } from './schedule.service.js';
import { RIGHTS_LOST, ScheduledWork } from './scheduled-work.js';

const SWEEP_MS = 10_000;
/** A time that is later than this was missed. */
const MISSED_MS = 5 * 60_000;
const LEASE_TIMES = { renewMs: 10_000, lostAfterMs: (LEASE_SECONDS - 10) * 1_000 };

const DIED = msg`The service stopped three times during this work. Start it again.`;
const MISSED = msg`The service was stopped at this time.`;
const UNEXPECTED = msg`The work failed. The log has the reason; start it again.`;

class LeaseLostError extends Error {
  constructor() {
    super('Another process has the time of the schedule.');
  }
}

/**
 * Makes the times of schedules that are due, and does their work with the rights that their owners have in that minute. The queue
 * only hints: a claim of the row decides, and a sweep finds rows that no job has announced. Messages and runs have the id of their
 * time as their key, so that a second attempt after a crash repeats nothing.
 */
@Injectable()
export class ScheduleRunner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Schedules');
  private sweeps: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly repository: ScheduleRepository,
    private readonly service: ScheduleService,
    private readonly database: Database,
    private readonly callers: UserCallers,
    private readonly work: ScheduledWork,
    metrics: Metrics,
  ) {
    metrics.expiredLeases('schedule', () => repository.expiredLeases());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    if (this.config.embedded) await this.repository.expireLeases();
    this.queue.handle(SCHEDULE_JOB, (job, stopping) => {
      const tenantId = String(job.data['tenantId']);
      const key = { tenantId, id: Number(job.data['fireId']) };
      return inTenant(tenantId, () => this.take(key, stopping));
    });
    this.sweeps = new IntervalJob(SWEEP_MS, (stopping) => this.sweep(stopping));
    this.sweeps.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

  /** Makes times that are due, and announces those that no process works on. */
  async sweep(stopping: AbortSignal): Promise<void> {
    try {
      await this.repository.failExhausted(DIED);
      for (const { tenantId, id } of await this.repository.due()) {
        if (stopping.aborted) return;
        await inTenant(tenantId, () => this.fire(tenantId, id));
      }
      for (const { tenantId, id } of await this.repository.unclaimed()) {
        if (stopping.aborted) return;
        await this.service.announce(tenantId, id);
      }
    } catch (error) {
      // The next sweep tries again.
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to look for due schedules', err: error });
      }
    }
  }

  /** Makes one time where several were missed. */
  private async fire(tenantId: string, id: number): Promise<void> {
    await this.database.transaction(async () => {
      const schedule = await this.repository.lockDue(tenantId, id);
      if (!schedule?.nextDue) return;
      const { nextDue, missed } = schedule;
      const now = new Date();
      const isMissed = now.getTime() - nextDue.getTime() > MISSED_MS;
      await this.repository.add(
        schedule,
        nextDue,
        isMissed && missed === 'skip' ? MISSED : undefined,
      );
      await this.repository.setNextDue(schedule, nextDueOf(schedule, now));
    });
  }

  private async take(key: Pick<ScheduleFire, 'id' | 'tenantId'>, stopping: AbortSignal) {
    const token = randomUUID();
    const fire = await this.repository.claim(key, token);
    if (!fire) return;
    const schedule = await this.repository.schedules.get(fire.tenantId, fire.scheduleId);
    const lease = new Lease(
      () =>
        inTenant(fire.tenantId, async () =>
          (await this.repository.renew(fire, token)) ? undefined : new LeaseLostError(),
        ),
      LEASE_TIMES,
    );
    try {
      const { userId, tenantId } = schedule;
      const owner = await this.callers.working({ userId, tenantId });
      if (!owner || !mayAny(owner, ['chat:schedule:add'])) {
        await this.repository.end(fire, 'refused', { failure: RIGHTS_LOST });
        return;
      }
      // Usage and limits count the schedule as a tag.
      const caller = { ...owner, tags: [`schedule:${schedule.id}`] };
      const isEnded = await (schedule.kind === 'chat'
        ? this.work.chat(caller, schedule, fire)
        : this.work.run(caller, schedule, fire));
      if (!isEnded) await this.repository.release(fire, token);
    } catch (error) {
      await this.fail(fire, token, error, stopping);
    } finally {
      await lease.end();
    }
  }

  private async fail(
    fire: ScheduleFire,
    token: string,
    error: unknown,
    stopping: AbortSignal,
  ): Promise<void> {
    if (stopping.aborted || isOutage(error)) return this.repository.release(fire, token);
    if (!(error instanceof DomainError)) {
      this.logger.error({ msg: 'Work of a schedule failed', fire: fire.id, err: error });
    }
    const failure = error instanceof DomainError ? error.userMessage : UNEXPECTED;
    await this.repository.end(fire, 'failed', { failure });
  }
}
