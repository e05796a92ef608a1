import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { AccessChange } from '../access.change.js';
import { SUPERADMIN_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { toRoleView } from '../role/role.view.js';
import { LoginSessionRepository } from '../sign-in/login-session.repository.js';
import type { User } from './user.entity.js';
import { requireOther, UserReach } from './user.reach.js';
import { UserRepository } from './user.repository.js';
import { toUserView } from './user.view.js';
import type { UserRolesView } from './user.view.js';

/** Whether users are enabled and which roles they have. Both take effect with their next request. */
@Injectable()
export class UserStanding {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly sessions: LoginSessionRepository,
    private readonly reach: UserReach,
    private readonly change: AccessChange,
  ) {}

  async changeStatus(caller: Caller, userId: number, status: string): Promise<void> {
    await this.change.apply(
      caller,
      async () => this.put(caller, await this.reach.changeableOne(caller, userId), status),
      (entries) => entries,
    );
  }

  async rolesOf(caller: Caller, userId: number): Promise<UserRolesView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const held = await this.roles.of(caller.tenantId, userId);
    const all = await this.roles.all(caller.tenantId);
    const heldIds = new Set(held.map(({ id }) => id));
    return {
      user: toUserView(user, held, 'masked'),
      roles: all.map((role) => toRoleView(role, heldIds.has(role.id))),
    };
  }

  async changeRoles(caller: Caller, userId: number, roleIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => this.assign(caller, await this.reach.changeableOne(caller, userId), roleIds),
      (entries) => entries,
    );
  }

  /** Inside an access change, with a user the caller may change. Answers what there is to record. */
  async put(caller: Caller, user: User, status: string): Promise<AuditRecord[]> {
    if (user.status === status) return [];
    if (status !== '0') {
      requireOther(caller, [user.id], 'disable');
      await this.reach.requireSuperAdminWithout(caller.tenantId, [user.id]);
    }
    await this.users.users.update(caller.tenantId, user.id, { status });
    // Last, so that a sign-in that is being opened either sees the change or is seen here.
    if (status !== '0') await this.sessions.endAllOf(caller.tenantId, user.id);
    return [{ action: 'status-change', target: 'user', id: user.id, detail: { status } }];
  }

  /** Inside an access change, with a user the caller may change. Answers what there is to record. */
  async assign(caller: Caller, user: User, roleIds: readonly number[]): Promise<AuditRecord[]> {
    const { tenantId } = caller;
    const held = await this.roles.of(tenantId, user.id);
    const given = await this.reach.assignable(caller, roleIds);
    const before = new Set(held.map(({ id }) => id));
    const after = new Set(given.map(({ id }) => id));
    if (before.size === after.size && [...before].every((id) => after.has(id))) return [];
    requireOther(caller, [user.id], 'change the roles of');
    await this.roles.replaceOf(tenantId, user.id, [...after]);
    if (held.some(({ roleKey, id }) => roleKey === SUPERADMIN_ROLE && !after.has(id))) {
      await this.reach.requireSuperAdminWithout(tenantId, [user.id]);
    }
    const detail = { before: [...before], after: [...after] };
    return [{ action: 'permission-change', target: 'user', id: user.id, detail }];
  }
}
