import { Injectable } from '@nestjs/common';
import { mayAny } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { containing, Database } from '../platform/database/index.js';
import { ConflictError, ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { defined, givenTime } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { JobQueue, nextTime, requireTimes } from '../platform/queue/index.js';
import { TurnPlanner } from '../chat/index.js';
import { RunService } from '../harness/index.js';
import { ScheduleFireView, ScheduleView } from './schedule.dto.js';
import type {
  ChangedScheduleDto,
  FireListQuery,
  NewScheduleDto,
  ScheduleListQuery,
} from './schedule.dto.js';
import type { Schedule, ScheduledTask, ScheduleKind } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';

export const SCHEDULE_JOB = 'schedule.fire';
const MAX_SCHEDULES = 100;

/** The caller's schedules. Those of other users are not found. */
@Injectable()
export class ScheduleService {
  constructor(
    private readonly repository: ScheduleRepository,
    private readonly database: Database,
    private readonly queue: JobQueue,
    private readonly audit: AuditLog,
    private readonly planner: TurnPlanner,
    private readonly runs: RunService,
  ) {}

  async list({ tenantId, userId }: Caller, query: ScheduleListQuery): Promise<Page<ScheduleView>> {
    const where = { userId, ...(query.name && { name: containing(query.name) }) };
    const page = await this.repository.schedules.page(tenantId, query, where, { id: 'DESC' });
    return page.map((schedule) => ScheduleView.from(schedule));
  }

  async detail({ tenantId, userId }: Caller, id: number): Promise<ScheduleView> {
    return ScheduleView.from(await this.repository.schedules.get(tenantId, id, { userId }));
  }

  async create(caller: Caller, body: NewScheduleDto): Promise<ScheduleView> {
    requireOwnRights(caller);
    const { tenantId, userId } = caller;
    const { kind, name } = body;
    const task = await this.possible(caller, kind, body);
    const row = { userId, name: name.trim(), kind, task, ...timesOf(body) };
    return this.database.transaction(async () => {
      if ((await this.repository.schedules.count(tenantId, { userId })) >= MAX_SCHEDULES) {
        throw new ConflictError(
          msg`A user can have at most ${MAX_SCHEDULES} schedules. Delete one first.`,
        );
      }
      const { id } = await this.repository.schedules.insert(tenantId, row);
      const detail = { kind };
      await this.audit.record(caller, { action: 'create', target: 'schedule', id, detail });
      return this.detail(caller, id);
    });
  }

  async update(caller: Caller, body: ChangedScheduleDto): Promise<ScheduleView> {
    requireOwnRights(caller);
    const { tenantId, userId } = caller;
    const { id, revision, name } = body;
    const { schedules } = this.repository;
    const { kind } = await schedules.get(tenantId, id, { userId });
    const task = await this.possible(caller, kind, body);
    return this.database.transaction(async () => {
      const current = (): Promise<ScheduleView> => this.detail(caller, id);
      await schedules.requireRevision(tenantId, id, { expected: revision, current });
      const change = { name: name.trim(), task, ...timesOf(body) };
      await schedules.update(tenantId, id, change, { userId });
      await this.audit.record(caller, { action: 'update', target: 'schedule', id });
      return this.detail(caller, id);
    });
  }

  /** What is under way goes on. A schedule that goes on makes up for nothing. */
  async pause(caller: Caller, id: number, paused: boolean): Promise<void> {
    requireOwnRights(caller);
    const { tenantId, userId } = caller;
    await this.database.transaction(async () => {
      const schedule = await this.repository.schedules.get(tenantId, id, { userId });
      const nextDue = schedule.cron === null ? schedule.nextDue : nextDueOf(schedule, new Date());
      await this.repository.schedules.update(tenantId, id, { paused, nextDue }, { userId });
      const detail = { paused };
      await this.audit.record(caller, { action: 'status-change', target: 'schedule', id, detail });
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId, userId } = caller;
    await this.database.transaction(async () => {
      await this.repository.schedules.remove(tenantId, ids, { userId });
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'schedule', id });
      }
    });
  }

  /** Does the work of the schedule now, besides its times. */
  async runNow(caller: Caller, id: number): Promise<void> {
    requireOwnRights(caller);
    const { tenantId, userId } = caller;
    const schedule = await this.repository.schedules.get(tenantId, id, { userId });
    const fireId = await this.repository.add(schedule, new Date());
    if (fireId === undefined) {
      throw new ConflictError(
        msg`The schedule is at work already. Wait for the end of it, or stop it.`,
      );
    }
    await this.announce(tenantId, fireId);
  }

  async fires({ tenantId, userId }: Caller, query: FireListQuery): Promise<Page<ScheduleFireView>> {
    const page = await this.repository.firesOf(tenantId, userId, query);
    return page.map((fire) => ScheduleFireView.from(fire));
  }

  /** The task, which the caller could do now; throws what refuses it. */
  private async possible(
    caller: Caller,
    kind: ScheduleKind,
    body: NewScheduleDto | ChangedScheduleDto,
  ): Promise<ScheduledTask> {
    const task = taskOf(kind, body);
    const { model, agentId, knowledgeId, harnessSessionId } = task;
    if (harnessSessionId === undefined) {
      await this.planner.plan(caller, { model, agentId, knowledgeId });
    } else {
      if (!mayAny(caller, ['coding:harness:use'])) throw new ForbiddenError();
      await this.runs.sessionOf(caller, harnessSessionId);
    }
    return task;
  }

  async announce(tenantId: string, fireId: number): Promise<void> {
    await this.queue.add(SCHEDULE_JOB, { id: String(fireId), data: { tenantId, fireId } });
  }
}

/** The next time of a schedule with a pattern. */
export function nextDueOf({ cron, timeZone }: Schedule, after: Date): Date | null {
  return cron === null ? null : nextTime({ cron, timeZone }, after);
}

/** A schedule works with all rights of its owner, which an API key does not have. */
function requireOwnRights({ apiKey }: Caller): void {
  if (apiKey === undefined) return;
  throw new ForbiddenError(
    msg`Schedules work with all rights of their owner, so an API key cannot change them. Sign in.`,
  );
}

function taskOf(kind: ScheduleKind, body: NewScheduleDto | ChangedScheduleDto): ScheduledTask {
  const { message, model, agentId, knowledgeId, harnessSessionId } = body;
  if (kind === 'run' && harnessSessionId === undefined) {
    throw new InvalidInputError(
      msg`Enter harnessSessionId: the session of the harness in which the runs begin.`,
    );
  }
  const isForeign =
    kind === 'run'
      ? agentId !== undefined || knowledgeId !== undefined
      : harnessSessionId !== undefined;
  if (isForeign) {
    throw new InvalidInputError(
      msg`A schedule of the kind chat has agentId or knowledgeId, one of the kind run has harnessSessionId. Leave the others out.`,
    );
  }
  return { message, ...defined({ model, agentId, knowledgeId, harnessSessionId }) };
}

function timesOf({
  cron,
  at,
  timeZone,
  missed = 'once',
}: NewScheduleDto | ChangedScheduleDto): Pick<
  Schedule,
  'cron' | 'timeZone' | 'missed' | 'nextDue'
> {
  if ((cron === undefined) === (at === undefined)) {
    throw new InvalidInputError(msg`Enter cron for many times, or at for one.`);
  }
  if (cron !== undefined) {
    const times = { cron, timeZone: timeZone ?? null };
    requireTimes(times);
    return { ...times, missed, nextDue: nextTime(times, new Date()) };
  }
  const nextDue = givenTime('at', at ?? '', 'start');
  if (nextDue <= new Date()) throw new InvalidInputError(msg`at must be in the future.`);
  return { cron: null, timeZone: null, missed, nextDue };
}
