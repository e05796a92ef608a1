import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  Numeric,
  primary,
  TenantId,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
} from '../platform/database/index.js';

/** Who or what a limit is of. */
export const SCOPES = ['tenant', 'user', 'key', 'model'] as const;
export type LimitScope = (typeof SCOPES)[number];

/** What is limited, and in which time. The database's functions read the parts of these words. */
export const MEASURES = [
  'requests-minute',
  'tokens-day',
  'tokens-month',
  'cost-day',
  'cost-month',
] as const;
export type LimitMeasure = (typeof MEASURES)[number];

/** How much may be used. Without the id of its scope each user, key or model may use as much. */
@Entity({ name: 'usage_limit' })
export class UsageLimit {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(10) scope: LimitScope;
  @Bigint(nullable) userId: number | null;
  @Bigint(nullable) apiKeyId: number | null;
  @Bigint(nullable) modelId: number | null;
  @Varchar(20) measure: LimitMeasure;
  @Numeric({ precision: 20, scale: 6 }) cap: number;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** What a user, key, model or tenant has used of a limit in the present period. Written by functions of the database. */
@Entity({ name: 'usage_counter' })
export class UsageCounter {
  @Bigint(primary) limitId: number;
  /** 0 for the tenant. */
  @Bigint(primary) subjectId: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) userId: number | null;
  @Bigint(nullable) apiKeyId: number | null;
  @Bigint(nullable) modelId: number | null;
  @Timestamp() periodStart: Date;
  @Numeric({ precision: 30, scale: 12 }) used: number;
  @Timestamp() usedTime: Date;
}

/** What a running call may use of a limit at most; of requests, those of one second. */
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
