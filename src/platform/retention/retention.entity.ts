import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Integer,
  TenantId,
  Timestamp,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../database/index.js';

/** The kinds of records for which a tenant says how long they are kept (docs/OPERATIONS.md, Retention). */
export const RECORD_CLASSES = [
  'chats',
  'files',
  'runs',
  'media',
  'responses',
  'calls',
  'audit',
] as const;
export type RecordClass = (typeof RECORD_CLASSES)[number];

/** The classes whose records belong to one user, who may keep them for a shorter time. */
export const USER_CLASSES = ['chats', 'files', 'runs', 'media', 'responses'] as const;

/** What the sweep removes: records of the classes, and temporary chats. */
export const SWEPT_CLASSES = [...RECORD_CLASSES, 'temporary-chats'] as const;
export type SweptClass = (typeof SWEPT_CLASSES)[number];

/** Whether users of a tenant can make chats temporary, must, or cannot. */
export const TEMPORARY_CHAT_POLICIES = ['allowed', 'enforced', 'forbidden'] as const;
export type TemporaryChatPolicy = (typeof TEMPORARY_CHAT_POLICIES)[number];

/** How long the records of a class are kept. A class without a rule is kept. */
@Entity({ name: 'retention_rule' })
export class RetentionRule {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  /** Null for the rule of the tenant; that of a user counts where it is shorter. */
  @Bigint(nullable) userId: number | null;
  @Varchar(20) recordClass: RecordClass;
  @Integer() days: number;
}

/** The lease of the process that sweeps a class of a tenant, and the time of the last sweep. */
@Entity({ name: 'retention_sweep' })
export class RetentionSweepLease {
  @TenantId(primary) tenantId: string;
  @Varchar(20, primary) recordClass: SweptClass;
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Timestamp(nullable) sweptTime: Date | null;
}

/** While it stands, nothing of the user in the tenant is swept, and triggers refuse every deletion of it. */
@Entity({ name: 'legal_hold' })
export class LegalHold {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) userId: number;
  @Varchar(500) reason: string;
  /** The user who placed it. */
  @Bigint(nullable) placedBy: number | null;
  @CreateTime() createTime: Date;
}
