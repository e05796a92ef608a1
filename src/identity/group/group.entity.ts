import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  primary,
  Revision,
  TenantId,
  UpdateTime,
  Varchar,
} from '../../platform/database/index.js';

/** Where the groups of a source are changed: here, by a directory over SCIM, or by the claims of a sign-in. */
export const GROUP_SOURCES = ['local', 'scim', 'sso'] as const;
export type GroupSource = (typeof GROUP_SOURCES)[number];

/** A group of users. Grants name it, and the role mapping of a provisioned provider names those of a directory. */
@Entity({ name: 'user_group' })
export class UserGroup {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(10) source: GroupSource;
  /** The provider whose claim names the group; only with the source sso. */
  @Bigint(nullable) providerId: number | null;
  /** Unique among the groups of its source, whatever the case of its letters; not with the source sso. */
  @Varchar(255) displayName: string;
  /** The id in the directory, or the value of the claim; null for a local group. */
  @Varchar(255, nullable) externalId: string | null;
  @Varchar(500, nullable) remark: string | null;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** Puts a user into a group. */
@Entity({ name: 'group_member' })
export class GroupMember {
  @Bigint(primary) groupId: number;
  @Bigint(primary) userId: number;
  @TenantId() tenantId: string;
}

/** Puts a group into another: its users are users of that one. There are no cycles. */
@Entity({ name: 'group_child' })
export class GroupChild {
  @Bigint(primary) groupId: number;
  @Bigint(primary) childId: number;
  @TenantId() tenantId: string;
}

/** The users of a group, those of the groups inside of it included. Written by GroupRepository alone. */
@Entity({ name: 'group_membership' })
export class GroupMembership {
  @Bigint(primary) userId: number;
  @Bigint(primary) groupId: number;
  @TenantId() tenantId: string;
}
