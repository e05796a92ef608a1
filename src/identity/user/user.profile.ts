import { Injectable } from '@nestjs/common';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { AccessChange } from '../access.change.js';
import { RoleRepository } from '../role/role.repository.js';
import { atHome } from '../sign-in/sign-in.service.js';
import { TenantSwitch } from '../tenant/tenant.switch.js';
import type { ProfileDto } from './user.dto.js';
import { UserRepository } from './user.repository.js';
import { toUserView } from './user.view.js';
import type { ProfileView, UserInfoView } from './user.view.js';

/** What users see and change of themselves, always in their own tenant. */
@Injectable()
export class UserProfile {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly tenantSwitch: TenantSwitch,
    private readonly change: AccessChange,
  ) {}

  /** Read with every load of a page, which ends the switch to another tenant. */
  async info(caller: Caller): Promise<UserInfoView> {
    if (caller.tenantId !== caller.homeTenantId) await this.tenantSwitch.leave(caller);
    const { user, roles } = await this.own(caller);
    const phone = mayAny(caller, ['system:user:edit']) ? 'shown' : 'masked';
    return {
      user: toUserView(user, roles, phone),
      permissions: [...caller.permissions],
      roles: [...caller.roleKeys],
    };
  }

  async profile(caller: Caller): Promise<ProfileView> {
    const { user, roles } = await this.own(caller);
    return {
      user: toUserView(user, roles, 'shown'),
      roleGroup: roles.map((role) => role.roleName).join(', '),
      postGroup: '',
    };
  }

  async update(caller: Caller, { nickName, email, phonenumber, sex }: ProfileDto): Promise<void> {
    const values = { nickName, email, phonenumber, sex };
    await this.change.apply(
      atHome(caller),
      () => this.users.users.update(caller.homeTenantId, caller.userId, values),
      () => [{ action: 'update', target: 'user', id: caller.userId }],
    );
  }

  private async own({ homeTenantId, userId }: Caller) {
    return inTenant(homeTenantId, async () => ({
      user: await this.users.users.get(homeTenantId, userId),
      roles: await this.roles.of(homeTenantId, userId),
    }));
  }
}
