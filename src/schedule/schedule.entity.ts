import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  nullable,
  Revision,
  TenantId,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
} from '../platform/database/index.js';
import type { Message } from '../platform/message/index.js';

/** chat: a message in a new chat. run: a run in a session of the harness. */
export const SCHEDULE_KINDS = ['chat', 'run'] as const;
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number];

/** What happens with times that passed while no process could act: the first of them is made up for, or none. */
export const MISSED = ['once', 'skip'] as const;
export type Missed = (typeof MISSED)[number];

/** What is asked at each time. */
export interface ScheduledTask {
  readonly message: string;
  readonly model?: string;
  readonly agentId?: number;
  readonly knowledgeId?: number;
  /** The session of the harness, for runs. */
  readonly harnessSessionId?: string;
}

/** Work that is done for its user at given times. */
@Entity({ name: 'schedule' })
export class Schedule {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(100) name: string;
  @Varchar(10) kind: ScheduleKind;
  @Jsonb() task: ScheduledTask;
  /** Null for a schedule of one time. */
  @Varchar(100, nullable) cron: string | null;
  @Varchar(64, nullable) timeZone: string | null;
  @Varchar(10) missed: Missed;
  @Flag({ default: false }) paused: boolean;
  /** Null once there is no time to come. */
  @Timestamp(nullable) nextDue: Date | null;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** done: the message is answered, or the run has begun. waiting: a tool of the answer waits for consent. */
export const FIRE_STATES = ['open', 'done', 'waiting', 'failed', 'refused', 'skipped'] as const;
export type FireState = (typeof FIRE_STATES)[number];

/** One time of a schedule. A schedule has one row a time, over all processes. */
@Entity({ name: 'schedule_fire' })
export class ScheduleFire {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() scheduleId: number;
  @Timestamp() dueTime: Date;
  @Varchar(10, { default: 'open' }) state: FireState;
  @Jsonb(nullable) failure: Message | null;
  /** The chat that was made for it; null for runs, and once the chat is deleted. */
  @Bigint(nullable) chatSessionId: number | null;
  @Uuid(nullable) runId: string | null;
  @Integer({ default: 0 }) attempts: number;
  /** Names the process that works on it. */
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) endTime: Date | null;
}
