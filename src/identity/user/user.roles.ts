import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import type { Page } from '../../platform/http/index.js';
import { AccessChange } from '../access/access.change.js';
import { requireHeld } from '../access/grant.rules.js';
import { SUPERADMIN_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { toRoleView } from '../role/role.view.js';
import { requireNotSelf, UserAccessPolicy } from './user.access-policy.js';
import type { RoleMemberQuery } from './user.dto.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { toUserView, viewFor } from './user.view.js';
import type { UserRolesView, UserView } from './user.view.js';

/** Which user has which role. A change takes effect with the next request of the user. */
@Injectable()
export class UserRoles {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly policy: UserAccessPolicy,
    private readonly change: AccessChange,
  ) {}

  /** The user, and all roles of the tenant with those of the user flagged. */
  async of(caller: Caller, userId: number): Promise<UserRolesView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const held = await this.roles.of(caller.tenantId, userId);
    const all = await this.roles.all(caller.tenantId);
    const heldIds = new Set(held.map(({ id }) => id));
    return {
      user: toUserView(user, held, 'masked'),
      roles: all.map((role) => toRoleView(role, heldIds.has(role.id))),
    };
  }

  async replace(caller: Caller, userId: number, roleIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => this.assign(caller, await this.policy.manageableOne(caller, userId), roleIds),
      (entries) => entries,
    );
  }

  /** Replaces the roles of a manageable user inside an access change. Returns what to write to the audit log. */
  async assign(caller: Caller, user: User, roleIds: readonly number[]): Promise<AuditRecord[]> {
    const { tenantId } = caller;
    const held = await this.roles.of(tenantId, user.id);
    const given = await this.policy.assignable(caller, roleIds);
    const before = new Set(held.map(({ id }) => id));
    const after = new Set(given.map(({ id }) => id));
    if (before.size === after.size && [...before].every((id) => after.has(id))) return [];
    requireNotSelf(caller, [user.id], 'change the roles of');
    await this.roles.replaceOf(tenantId, user.id, [...after]);
    if (held.some(({ roleKey, id }) => roleKey === SUPERADMIN_ROLE && !after.has(id))) {
      await this.policy.requireSuperAdminWithout(tenantId, [user.id]);
    }
    const detail = { before: [...before], after: [...after] };
    return [{ action: 'permission-change', target: 'user', id: user.id, detail }];
  }

  /** The users that have the role, or those that do not. */
  async members(
    caller: Caller,
    query: RoleMemberQuery,
    which: 'having' | 'lacking',
  ): Promise<Page<UserView>> {
    await this.roles.roles.get(caller.tenantId, query.roleId);
    const memberIds = await this.roles.userIdsOf(caller.tenantId, query.roleId);
    const page = await this.users.pageByRole(caller.tenantId, query, which, memberIds);
    return page.map((user) => viewFor(caller, user, []));
  }

  async addMembers(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        requireHeld(caller, await this.roles.roles.get(caller.tenantId, roleId));
        requireNotSelf(caller, userIds, 'change the roles of');
        await this.policy.manageable(caller, userIds);
        await this.roles.assign(caller.tenantId, roleId, userIds);
      },
      () => permissionChanges(userIds, { gave: roleId }),
    );
  }

  async removeMembers(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        const role = await this.roles.roles.get(caller.tenantId, roleId);
        requireNotSelf(caller, userIds, 'change the roles of');
        await this.policy.manageable(caller, userIds);
        await this.roles.unassign(caller.tenantId, roleId, userIds);
        if (role.roleKey === SUPERADMIN_ROLE) {
          await this.policy.requireSuperAdminWithout(caller.tenantId, userIds);
        }
      },
      () => permissionChanges(userIds, { took: roleId }),
    );
  }
}

function permissionChanges(
  userIds: readonly number[],
  detail: Record<string, number>,
): AuditRecord[] {
  return userIds.map((id) => ({ action: 'permission-change', target: 'user', id, detail }));
}
