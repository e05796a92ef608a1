import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Integer,
  TenantId,
  Timestamp,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../../platform/database/index.js';

/** One sign-in. Its token is valid while this row exists and is neither expired nor idle. */
@Entity({ name: 'login_session' })
export class LoginSession {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(64) clientId: string;

  /** The tenant a super administrator has switched to. */
  @Varchar(20, nullable) actingTenantId: string | null;
  @Varchar(64, nullable) ip: string | null;
  @Varchar(300, nullable) userAgent: string | null;
  @Integer() activeTimeout: number;
  @CreateTime() createTime: Date;
  @Timestamp({ insert: false }) lastActiveTime: Date;
  @Timestamp() expireTime: Date;
}
