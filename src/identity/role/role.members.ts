import { Injectable } from '@nestjs/common';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { Page } from '../../platform/http/index.js';
import { AccessChange } from '../access.change.js';
import { requireHeld } from '../grant.rules.js';
import { requireOther, UserReach } from '../user/user.reach.js';
import { UserRepository } from '../user/user.repository.js';
import { toUserView } from '../user/user.view.js';
import type { UserView } from '../user/user.view.js';
import type { RoleMemberQuery } from './role.dto.js';
import { SUPERADMIN_ROLE } from './role.entity.js';
import { RoleRepository } from './role.repository.js';

/** Who has a role. */
@Injectable()
export class RoleMembers {
  constructor(
    private readonly roles: RoleRepository,
    private readonly users: UserRepository,
    private readonly reach: UserReach,
    private readonly change: AccessChange,
  ) {}

  async having(caller: Caller, query: RoleMemberQuery): Promise<Page<UserView>> {
    return this.page(caller, query, { having: await this.memberIds(caller, query.roleId) });
  }

  async lacking(caller: Caller, query: RoleMemberQuery): Promise<Page<UserView>> {
    return this.page(caller, query, { lacking: await this.memberIds(caller, query.roleId) });
  }

  async give(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        requireHeld(caller, await this.roles.roles.get(caller.tenantId, roleId));
        requireOther(caller, userIds, 'change the roles of');
        await this.reach.changeable(caller, userIds);
        await this.roles.give(caller.tenantId, roleId, userIds);
      },
      () => this.entries(userIds, { gave: roleId }),
    );
  }

  async take(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        const role = await this.roles.roles.get(caller.tenantId, roleId);
        requireOther(caller, userIds, 'change the roles of');
        await this.reach.changeable(caller, userIds);
        await this.roles.take(caller.tenantId, roleId, userIds);
        if (role.roleKey === SUPERADMIN_ROLE) {
          await this.reach.requireSuperAdminWithout(caller.tenantId, userIds);
        }
      },
      () => this.entries(userIds, { took: roleId }),
    );
  }

  private entries(userIds: readonly number[], detail: Record<string, number>) {
    return userIds.map(
      (id) => ({ action: 'permission-change', target: 'user', id, detail }) as const,
    );
  }

  private async memberIds(caller: Caller, roleId: number): Promise<number[]> {
    await this.roles.roles.get(caller.tenantId, roleId);
    return this.roles.userIdsOf(caller.tenantId, roleId);
  }

  private async page(
    caller: Caller,
    query: RoleMemberQuery,
    which: { readonly having: number[] } | { readonly lacking: number[] },
  ): Promise<Page<UserView>> {
    const phone = mayAny(caller, ['system:user:edit']) ? 'shown' : 'masked';
    const page = await this.users.pageByRole(caller.tenantId, query, which);
    return page.map((user) => toUserView(user, [], phone));
  }
}
