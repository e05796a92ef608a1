import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  Numeric,
  primary,
  Smallint,
  TenantId,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
} from '../platform/database/index.js';

/** The scope of a limit. */
export const SCOPES = ['tenant', 'user', 'key', 'model', 'group', 'tag'] as const;
export type LimitScope = (typeof SCOPES)[number];

/** The measure of a limit and its period. The database's functions parse these words. */
export const MEASURES = [
  'requests-minute',
  'tokens-minute',
  'calls-concurrent',
  'tokens-day',
  'tokens-month',
  'cost-day',
  'cost-month',
] as const;
export type LimitMeasure = (typeof MEASURES)[number];

/** A usage limit. Without the id of its scope each user, key, model, group or tag may use as much. */
@Entity({ name: 'usage_limit' })
export class UsageLimit {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(10) scope: LimitScope;
  @Bigint(nullable) userId: number | null;
  @Bigint(nullable) apiKeyId: number | null;
  @Bigint(nullable) modelId: number | null;
  @Bigint(nullable) groupId: number | null;
  @Varchar(64, nullable) tag: string | null;
  @Varchar(20) measure: LimitMeasure;
  @Numeric({ precision: 20, scale: 6 }) cap: number;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** The usage of a user, key, model, group, tag or tenant within the current period of a limit. Written by functions of the database. */
@Entity({ name: 'usage_counter' })
export class UsageCounter {
  @Bigint(primary) limitId: number;
  /** The id of the user, key, model or group, or the hash of the tag; 0 for the tenant. */
  @Bigint(primary) subjectId: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) userId: number | null;
  @Bigint(nullable) apiKeyId: number | null;
  @Bigint(nullable) modelId: number | null;
  @Bigint(nullable) groupId: number | null;
  @Varchar(64, nullable) tag: string | null;
  @Timestamp() periodStart: Date;
  @Numeric({ precision: 30, scale: 12 }) used: number;
  @Timestamp() usedTime: Date;
}

/** A share of a limit that was used in a period: one row, whatever is counted after it. */
@Entity({ name: 'usage_threshold' })
export class UsageThreshold {
  @Bigint(primary) limitId: number;
  @Bigint(primary) subjectId: number;
  @Timestamp(primary) periodStart: Date;
  @Smallint(primary) percent: number;
  @TenantId() tenantId: string;
  @Numeric({ precision: 30, scale: 12 }) used: number;
  @Numeric({ precision: 20, scale: 6 }) cap: number;
  @CreateTime() createTime: Date;
}

/** The most that a running call may use of a limit; of a minute, what was used in one second. */
@Entity({ name: 'usage_reservation' })
export class UsageReservation {
  @Bigint(primary) limitId: number;
  @Bigint(primary) subjectId: number;
  /** The id that the call will have in the usage ledger. */
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Timestamp() periodStart: Date;
  @Numeric({ precision: 30, scale: 12 }) amount: number;
  @Timestamp() expireTime: Date;
}
