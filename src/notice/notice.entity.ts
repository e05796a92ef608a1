import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Integer,
  nullable,
  primary,
  Smallint,
  TenantId,
  Text,
  Timestamp,
  Uuid,
  Varchar,
} from '../platform/database/index.js';

export const TARGET_KINDS = ['webhook', 'mail'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** An address that is told when a share of a limit is used. */
@Entity({ name: 'notice_target' })
export class NoticeTarget {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(10) kind: TargetKind;
  @Varchar(2000) address: string;
  /** Encrypted key of the signatures of a webhook. */
  @Text(nullable) secret: string | null;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
}

/** The outbox: one row for each threshold, period and target, written with the threshold. */
@Entity({ name: 'notice_delivery' })
export class NoticeDelivery {
  /** The webhook-id, which stays the same in each attempt. */
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Bigint() targetId: number;
  @Bigint() limitId: number;
  @Bigint() subjectId: number;
  @Timestamp() periodStart: Date;
  @Smallint() percent: number;
  @Varchar(10, { default: 'waiting' }) state: 'waiting' | 'delivered' | 'failed';
  @Integer({ default: 0 }) attempts: number;
  @Timestamp() dueTime: Date;
  @Varchar(500, nullable) error: string | null;
  @CreateTime() createTime: Date;
}
