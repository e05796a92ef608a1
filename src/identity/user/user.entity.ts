import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Revision,
  TenantId,
  Timestamp,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';

/** The userType of accounts for programs: without a password, so that they act by API keys alone. */
export const SERVICE_ACCOUNT = 'service';

/** The passwordHash of a user without a password, which no password fits. */
export const NO_PASSWORD = '';

@Entity({ name: 'user_account' })
export class User {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** Unique in the tenant, ignoring case by the rules of PostgreSQL. */
  @Varchar(64) userName: string;
  @Varchar(64) nickName: string;
  @Varchar(10) userType: string;
  @Varchar(100, nullable) email: string | null;
  /** The address that the user has entered without proof: no right follows from it. */
  @Varchar(100, nullable) chosenEmail: string | null;
  @Varchar(20, nullable) phonenumber: string | null;
  @Char(1) sex: string;
  @Bigint(nullable) avatar: number | null;
  /** NO_PASSWORD for a service account, and for a user of a provider or directory until an administrator sets one. */
  @Varchar(255) passwordHash: string;
  @Char(1) status: string;
  /** Whether the user is disabled because the provider of their sign-in refused them: their next sign-in there enables them. */
  @Flag({ default: false }) suspended: boolean;
  /** Whether the user may sign in with a password although the tenant has turned that off. */
  @Flag({ default: false }) breakGlass: boolean;
  @Varchar(64, nullable) loginIp: string | null;
  @Timestamp(nullable) loginDate: Date | null;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}
