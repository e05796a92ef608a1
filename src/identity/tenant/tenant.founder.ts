import { Injectable } from '@nestjs/common';
import type { DeepPartial } from 'typeorm';
import {
  ALL_PERMISSIONS,
  TenantLifecycle,
  tenantAdminPermissions,
  userPermissions,
} from '../../platform/access/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { ADMIN_ROLE, SUPERADMIN_ROLE, USER_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { UserAccounts } from '../user/user.accounts.js';
import { HOME_TENANT } from './tenant.entity.js';
import type { Tenant } from './tenant.entity.js';
import { TenantRepository } from './tenant.repository.js';

export interface FirstUser {
  readonly userName: string;
  readonly password: string;
}

const SEEDED_ROLES = [
  { roleKey: ADMIN_ROLE, roleName: 'Administrator', permissions: tenantAdminPermissions },
  { roleKey: USER_ROLE, roleName: 'User', permissions: userPermissions },
];

/** Makes tenants: the row, its roles, its first administrator, and what each feature gives a new tenant. */
@Injectable()
export class TenantFounder {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
    private readonly roles: RoleRepository,
    private readonly accounts: UserAccounts,
    private readonly lifecycle: TenantLifecycle,
  ) {}

  async found(
    values: DeepPartial<Tenant> & { tenantId: string },
    first: FirstUser,
  ): Promise<Tenant> {
    const { tenantId } = values;
    const found = async (): Promise<Tenant> => {
      const tenant = await this.tenants.insert(values);
      const roleId = await this.giveRoles(tenantId);
      await this.accounts.create(
        { tenantId },
        { ...first, nickName: first.userName, roleIds: [roleId] },
        'create',
      );
      await this.lifecycle.created(tenantId);
      return tenant;
    };
    return inTenant(tenantId, () => this.database.transaction(found));
  }

  /** The id of the role that the first user gets. */
  private async giveRoles(tenantId: string): Promise<number> {
    const superAdmin = {
      roleKey: SUPERADMIN_ROLE,
      roleName: 'Super administrator',
      permissions: [ALL_PERMISSIONS],
    };
    const seeded = tenantId === HOME_TENANT ? [superAdmin, ...SEEDED_ROLES] : SEEDED_ROLES;
    const made = [];
    for (const [roleSort, role] of seeded.entries()) {
      const permissions = [...role.permissions];
      made.push(await this.roles.roles.insert(tenantId, { ...role, permissions, roleSort }));
    }
    const [first] = made;
    if (!first) throw new Error('A tenant without roles was founded.');
    return first.id;
  }
}
