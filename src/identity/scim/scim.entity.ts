import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  nullable,
  primary,
  TenantId,
  UpdateTime,
  Varchar,
} from '../../platform/database/index.js';

/** The attributes of a user that a directory provides beyond those that every user has. */
@Entity({ name: 'provisioned_user' })
export class ProvisionedUser {
  @Bigint(primary) userId: number;
  @TenantId() tenantId: string;
  /** The id of the user in the directory, unique in the tenant. */
  @Varchar(255, nullable) externalId: string | null;
  @Varchar(64, nullable) givenName: string | null;
  @Varchar(64, nullable) familyName: string | null;
  /** Whether the directory has created the user; false for a user who existed before. */
  @Flag() created: boolean;
}

/** A group of a directory. It gives no permission itself: the role mapping of a provisioned provider does. */
@Entity({ name: 'provisioned_group' })
export class ProvisionedGroup {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  /** Unique in the tenant, whatever the case of its letters. */
  @Varchar(255) displayName: string;
  @Varchar(255, nullable) externalId: string | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

@Entity({ name: 'provisioned_member' })
export class ProvisionedMember {
  @Bigint(primary) groupId: number;
  @Bigint(primary) userId: number;
  @TenantId() tenantId: string;
}
