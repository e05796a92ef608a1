import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  GeneratedId,
  Integer,
  Revision,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
  nullable,
  primary,
} from '../../platform/database/index.js';

/** The tenant of the installation itself: it always exists, never expires and cannot be disabled. */
export const HOME_TENANT = '000000';

/** The role of administrators of the whole installation. It exists only in the home tenant. */
export const SUPERADMIN_ROLE = 'superadmin';
/** The role of the administrators of a tenant. */
export const ADMIN_ROLE = 'admin';
/** The role of users who have registered themselves. */
export const USER_ROLE = 'user';

@Entity({ name: 'role' })
export class Role {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) roleName: string;
  @Varchar(100) roleKey: string;
  @Integer() roleSort: number;
  @Char(1) status: string;
  @Text({ array: true }) permissions: string[];
  /** Whether users of the role must have a second factor to sign in with a password. */
  @Varchar(10, { default: 'optional' }) secondFactor: string;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}

/** Assigns a role to a user. */
@Entity({ name: 'user_role' })
export class UserRole {
  @TenantId() tenantId: string;
  @Bigint(primary) userId: number;
  @Bigint(primary) roleId: number;
}
