import { Injectable } from '@nestjs/common';
import type { DeepPartial } from 'typeorm';
import {
  ALL_PERMISSIONS,
  TenantLifecycle,
  tenantAdminPermissions,
  userPermissions,
} from '../../platform/access/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { ADMIN_ROLE, HOME_TENANT, SUPERADMIN_ROLE, USER_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { UserService } from '../user/user.service.js';
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

/** Creates tenants with their roles, first administrator, and the first rows of each feature. */
@Injectable()
export class TenantProvisioner {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
    private readonly roles: RoleRepository,
    private readonly users: UserService,
    private readonly lifecycle: TenantLifecycle,
  ) {}

  async provision(
    values: DeepPartial<Tenant> & { tenantId: string },
    first: FirstUser,
  ): Promise<Tenant> {
    const { tenantId } = values;
    const provision = async (): Promise<Tenant> => {
      const tenant = await this.tenants.insert(values);
      const roleId = await this.createRoles(tenantId);
      await this.users.createAccount(
        { tenantId },
        { ...first, nickName: first.userName, roleIds: [roleId] },
        'create',
      );
      await this.lifecycle.created(tenantId);
      return tenant;
    };
    return inTenant(tenantId, () => this.database.transaction(provision));
  }

  /** Returns the id of the role for the first user. */
  private async createRoles(tenantId: string): Promise<number> {
    const superAdmin = {
      roleKey: SUPERADMIN_ROLE,
      roleName: 'Super administrator',
      permissions: [ALL_PERMISSIONS],
    };
    const seeded = tenantId === HOME_TENANT ? [superAdmin, ...SEEDED_ROLES] : SEEDED_ROLES;
    const ids = [];
    for (const [roleSort, role] of seeded.entries()) {
      const permissions = [...role.permissions];
      const { id } = await this.roles.roles.insert(tenantId, { ...role, permissions, roleSort });
      ids.push(id);
    }
    const [first] = ids;
    if (first === undefined) throw new Error('A tenant was created without roles.');
    return first;
  }
}
