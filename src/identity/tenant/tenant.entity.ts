import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Revision,
  TenantId,
  Timestamp,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { HOME_TENANT } from '../role/role.entity.js';

@Entity({ name: 'tenant' })
export class Tenant {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) companyName: string;
  @Varchar(50, nullable) contactUserName: string | null;
  @Varchar(30, nullable) contactPhone: string | null;
  @Varchar(50, nullable) licenseNumber: string | null;
  @Varchar(200, nullable) address: string | null;
  @Varchar(200, nullable) domain: string | null;
  @Varchar(500, nullable) intro: string | null;
  @Varchar(500, nullable) remark: string | null;
  @Timestamp(nullable) expireTime: Date | null;

  /** Limit of users; -1 for none. */
  @Integer() accountCount: number;
  @Char(1) status: string;

  /** Whether people may register. */
  @Flag() registerEnabled: boolean;

  /** Whether users sign in with a password; without it, only break-glass users do. */
  @Flag({ default: true }) passwordLogin: boolean;

  /** Whether chats can or must be temporary (platform/retention). */
  @Varchar(10, { default: 'allowed', insert: false, update: false }) temporaryChats: string;

  /** Whether traces have prompts and answers of the tenant (platform/retention). */
  @Flag({ default: false, insert: false, update: false }) traceContent: boolean;
  @Bigint({ insert: false, update: false }) revision: number;
  @Revision() recordRevision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** Why users of the tenant cannot sign in, or undefined if they can. */
export function tenantProblem(tenant: Tenant, now: Date): Message | undefined {
  if (tenant.tenantId === HOME_TENANT) return undefined;
  if (tenant.status !== '0') return msg`This tenant is disabled. Ask the operator of this service.`;
  if (tenant.expireTime && tenant.expireTime <= now) {
    return msg`This tenant has expired. Ask the operator of this service to extend it.`;
  }
  return undefined;
}
