import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  nullable,
  primary,
  Smallint,
  TenantId,
  Varchar,
} from '../platform/database/index.js';
import type { ResourceType } from './grant.rules.js';

/** What a subject may do with a record. It is the only truth about who may reach the record, its owner included. */
@Entity({ name: 'access_grant' })
export class AccessGrant {
  @TenantId(primary) tenantId: string;
  @Varchar(20, primary) resourceType: ResourceType;
  @Bigint(primary) resourceId: number;
  /** tenant, user:ID, role:ID or group:ID. */
  @Varchar(40, primary) subject: string;
  /** A number of LEVELS; each includes those below it. */
  @Smallint() level: number;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
}
