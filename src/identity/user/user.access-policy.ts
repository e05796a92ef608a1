import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { ConflictError, ForbiddenError, NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { requireHeld, requireNotAbove } from '../access/access.change.js';
import { HOME_TENANT, SUPERADMIN_ROLE } from '../role/role.entity.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';

/** Decides which users a caller may change and which roles they may assign. Call it in the transaction of the change. */
@Injectable()
export class UserAccessPolicy {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
  ) {}

  /** Loads users to change. Throws NotFoundError if one is missing, ForbiddenError if one has a permission that the caller lacks. */
  async manageable(caller: Caller, ids: readonly number[]): Promise<User[]> {
    const users = await this.users.byIds(caller.tenantId, ids);
    if (users.length !== new Set(ids).size) throw new NotFoundError(msg`The user`);
    const rolesByUser = await this.roles.ofMany(caller.tenantId, ids);
    for (const roles of rolesByUser.values()) requireNotAbove(caller, roles);
    return users;
  }

  async manageableOne(caller: Caller, id: number): Promise<User> {
    const [user] = await this.manageable(caller, [id]);
    if (!user) throw new NotFoundError(msg`The user`);
    return user;
  }

  /** Loads roles to assign. Throws NotFoundError if one is missing, ForbiddenError if one has a permission that the caller lacks. */
  async assignable(caller: Caller, roleIds: readonly number[]): Promise<Role[]> {
    const roles = await this.roles.byIds(caller.tenantId, roleIds);
    if (roles.length !== new Set(roleIds).size) throw new NotFoundError(msg`The role`);
    for (const role of roles) requireHeld(caller, role);
    return roles;
  }

  /** Throws ConflictError if the installation would have no enabled super administrator without these users. */
  async requireSuperAdminWithout(tenantId: string, userIds: readonly number[]): Promise<void> {
    if (tenantId !== HOME_TENANT) return;
    if ((await this.roles.countSuperAdmins(tenantId, userIds)) > 0) return;
    throw new ConflictError(
      msg`This would leave no super administrator. Give another user the role superadmin first.`,
    );
  }

  /** Whether the user can sign in with a password, if they have one. */
  async mayUsePassword(
    tenant: { readonly tenantId: string; readonly passwordLogin: boolean },
    user: Pick<User, 'id' | 'breakGlass'>,
  ): Promise<boolean> {
    if (tenant.passwordLogin || user.breakGlass) return true;
    if (tenant.tenantId !== HOME_TENANT) return false;
    const { roles } = await this.users.rightsOf(tenant.tenantId, user.id);
    return roles.some(({ roleKey }) => roleKey === SUPERADMIN_ROLE);
  }

  /** Throws ConflictError if a tenant without password sign-in would have no user who can sign in with a password. */
  async requireBreakGlassWithout(tenantId: string, userIds: readonly number[]): Promise<void> {
    if (await this.users.hasPasswordSignIn(tenantId, userIds)) return;
    throw new ConflictError(
      msg`This would leave no break-glass user. Choose another one under single sign-on first.`,
    );
  }
}

/** Throws ForbiddenError if the caller is among the users. */
export function requireNotSelf(caller: Caller, userIds: readonly number[], what: Message): void {
  if (!userIds.includes(caller.userId)) return;
  throw new ForbiddenError(msg`You cannot ${what} yourself. Ask another administrator.`);
}
