import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { ConflictError, ForbiddenError, NotFoundError } from '../../platform/error/index.js';
import { requireHeld, requireNotAbove } from '../grant.rules.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { HOME_TENANT } from '../tenant/tenant.entity.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';

/** Whom a caller may change, and what roles the caller may give. Ask inside the transaction of the change. */
@Injectable()
export class UserReach {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
  ) {}

  /** Users the caller may change. NotFoundError if one is missing, ForbiddenError if one may do more than the caller. */
  async changeable(caller: Caller, ids: readonly number[]): Promise<User[]> {
    const users = await this.users.byIds(caller.tenantId, ids);
    if (users.length !== new Set(ids).size) throw new NotFoundError('The user');
    const held = await this.roles.ofMany(caller.tenantId, ids);
    for (const roles of held.values()) requireNotAbove(caller, roles);
    return users;
  }

  async changeableOne(caller: Caller, id: number): Promise<User> {
    const [user] = await this.changeable(caller, [id]);
    if (!user) throw new NotFoundError('The user');
    return user;
  }

  /** Roles the caller may give or take. */
  async assignable(caller: Caller, roleIds: readonly number[]): Promise<Role[]> {
    const roles = await this.roles.byIds(caller.tenantId, roleIds);
    if (roles.length !== new Set(roleIds).size) throw new NotFoundError('The role');
    for (const role of roles) requireHeld(caller, role);
    return roles;
  }

  /** ConflictError when nobody would administer the installation any more without these users. */
  async requireSuperAdminWithout(tenantId: string, userIds: readonly number[]): Promise<void> {
    if (tenantId !== HOME_TENANT) return;
    if ((await this.roles.countSuperAdmins(tenantId, userIds)) > 0) return;
    throw new ConflictError(
      'This would leave no super administrator. Give another user the role superadmin first.',
    );
  }
}

export function requireOther(caller: Caller, userIds: readonly number[], what: string): void {
  if (!userIds.includes(caller.userId)) return;
  throw new ForbiddenError(`You cannot ${what} yourself. Ask another administrator.`);
}
