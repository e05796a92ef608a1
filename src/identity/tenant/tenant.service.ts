import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import type { DeepPartial } from 'typeorm';
import {
  ALL_PERMISSIONS,
  inHomeTenant,
  requireSuperAdmin,
  tenantAdminPermissions,
  TenantLifecycle,
  TenantRevision,
  userPermissions,
} from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import {
  Database,
  inTenant,
  isDeadlock,
  withLongStatements,
} from '../../platform/database/index.js';
import { ConflictError, NotFoundError } from '../../platform/error/index.js';
import { defined, givenTime } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import { ADMIN_ROLE, HOME_TENANT, SUPERADMIN_ROLE, USER_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { UserService } from '../user/user.service.js';
import { ALL_FUNCTIONS, TenantView } from './tenant.dto.js';
import type { ChangedTenantDto, NewTenantDto, TenantListQuery } from './tenant.dto.js';
import type { Tenant } from './tenant.entity.js';
import { TenantRepository } from './tenant.repository.js';

/**
 * A removal locks the tenant and then its rows. Work in the tenant locks a row and then the tenant, to add another row.
 * No order of locks avoids that deadlock, so a removal that the database aborts is retried.
 */
const MAX_ATTEMPT_COUNT = 5;

const SEEDED_ROLES = [
  { roleKey: ADMIN_ROLE, roleName: 'Administrator', permissions: tenantAdminPermissions },
  { roleKey: USER_ROLE, roleName: 'User', permissions: userPermissions },
];

/** The tenants of the installation, for super administrators only. */
@Injectable()
export class TenantService {
  constructor(
    private readonly tenants: TenantRepository,
    private readonly roles: RoleRepository,
    private readonly users: UserService,
    private readonly database: Database,
    private readonly lifecycle: TenantLifecycle,
    private readonly revision: TenantRevision,
    private readonly change: AccessChange,
    private readonly logins: LoginSessionService,
    private readonly sessions: LoginSessionRepository,
  ) {}

  async list(caller: Caller, query: TenantListQuery): Promise<Page<TenantView>> {
    requireSuperAdmin(caller);
    return (await this.tenants.page(query)).map(viewOf);
  }

  async detail(caller: Caller, id: number): Promise<TenantView> {
    requireSuperAdmin(caller);
    return viewOf(await this.tenants.get(id));
  }

  async create(caller: Caller, input: NewTenantDto): Promise<void> {
    requireSuperAdmin(caller);
    const { username, password, tenantId, ...rest } = input;
    const values = valuesOf(rest);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const id = tenantId ?? (await this.freeTenantId());
        if (await this.tenants.byTenantId(id)) {
          throw new ConflictError(
            msg`The tenant id ${id} is taken. Choose another one, or give none.`,
          );
        }
        return this.provision({ ...values, tenantId: id }, username, password);
      },
      (tenant) => [{ action: 'create', target: 'tenant', id: tenant.tenantId }],
    );
  }

  /** Creates a tenant with its roles, its first administrator, and the first rows of each feature. */
  async provision(
    values: DeepPartial<Tenant> & { tenantId: string },
    userName: string,
    password: string,
  ): Promise<Tenant> {
    const { tenantId } = values;
    return this.database.transactionIn(tenantId, async () => {
      const tenant = await this.tenants.insert(values);
      const roleIds = [await this.createRoles(tenantId)];
      const first = { userName, nickName: userName, password, roleIds };
      await this.users.createAccount({ tenantId }, first, 'create');
      await this.lifecycle.created(tenantId);
      return tenant;
    });
  }

  async update(caller: Caller, { id, revision, ...input }: ChangedTenantDto): Promise<void> {
    requireSuperAdmin(caller);
    const values = valuesOf(input);
    const detail = { fields: Object.keys(values) };
    await this.changeColumns(caller, { id, revision, values }, { action: 'update', detail });
  }

  async changeStatus(caller: Caller, id: number, status: string): Promise<void> {
    requireSuperAdmin(caller);
    const about = { action: 'status-change', detail: { status } } as const;
    await this.changeColumns(caller, { id, values: { status } }, about);
  }

  /** Deletes the tenants with everything they own, and ends the sign-ins that work in them. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    requireSuperAdmin(caller);
    for (let remainingAttempts = MAX_ATTEMPT_COUNT; ; remainingAttempts -= 1) {
      try {
        await withLongStatements(() => this.removeAll(caller, ids));
        return;
      } catch (error) {
        if (remainingAttempts === 1 || !isDeadlock(error)) throw error;
      }
    }
  }

  /** Switches the sign-in of the caller to the tenant, from the next request on. */
  async enter(caller: Caller, tenantId: string): Promise<void> {
    requireSuperAdmin(caller);
    if (!(await this.tenants.byTenantId(tenantId))) throw new NotFoundError(msg`The tenant`);
    await this.logins.switchTenant(caller, tenantId === caller.homeTenantId ? null : tenantId);
  }

  async leave(caller: Caller): Promise<void> {
    requireSuperAdmin(caller);
    await this.logins.switchTenant(caller, null);
  }

  private async changeColumns(
    caller: Caller,
    { id, values, revision }: TenantChange,
    about: Pick<AuditRecord, 'action' | 'detail'>,
  ): Promise<void> {
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const current = () => this.detail(caller, id);
        await this.tenants.requireRevision(id, { expected: revision, current });
        const tenant = await this.tenants.get(id);
        requireNotFixed(tenant, values);
        await this.tenants.update(id, values);
        await this.revision.incrementAccess(tenant.tenantId);
        return tenant;
      },
      ({ tenantId }) => [{ ...about, target: 'tenant', id: tenantId }],
    );
  }

  private async removeAll(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const tenants = await this.tenants.byIds(ids);
        if (tenants.length !== ids.length) throw new NotFoundError(msg`The tenant`);
        for (const { tenantId } of tenants) {
          if (tenantId === HOME_TENANT) throw new ConflictError(HOME_TENANT_IS_FIXED);
          await this.revision.incrementAccess(tenantId);
          await inTenant(tenantId, () => this.lifecycle.deleting(tenantId));
          // These sign-ins would continue in the home tenant and change its records instead.
          await this.sessions.endActingIn(HOME_TENANT, tenantId);
          await inTenant(tenantId, () => this.tenants.erase(tenantId));
        }
        return tenants;
      },
      (tenants) =>
        tenants.map(({ tenantId }) => ({ action: 'delete', target: 'tenant', id: tenantId })),
    );
  }

  /** Creates the roles and returns the id of the one for the first user. */
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

  private async freeTenantId(): Promise<string> {
    for (;;) {
      const tenantId = String(randomInt(100_000, 1_000_000));
      if (!(await this.tenants.byTenantId(tenantId))) return tenantId;
    }
  }
}

const HOME_TENANT_IS_FIXED = msg`The tenant ${HOME_TENANT} belongs to the installation: it cannot be disabled, expire or be deleted.`;

type TenantValues = Partial<Tenant>;

interface TenantChange {
  readonly id: number;
  readonly values: TenantValues;
  /** The revision of the tenant that the change was made from. */
  readonly revision?: number | undefined;
}

/** The given columns. An empty expireTime means never. */
function valuesOf({
  expireTime,
  ...input
}: Omit<ChangedTenantDto, 'id' | 'revision'>): TenantValues {
  const columns = defined(input);
  if (expireTime === undefined) return columns;
  return {
    ...columns,
    expireTime: expireTime === '' ? null : givenTime('expireTime', expireTime, 'start'),
  };
}

function viewOf(tenant: Tenant): TenantView {
  // The form of existing consoles refuses null for a domain.
  return TenantView.of(tenant, {
    packageId: ALL_FUNCTIONS.packageId,
    domain: tenant.domain ?? '',
    revision: tenant.recordRevision,
  });
}

function requireNotFixed(tenant: Tenant, { status, expireTime }: TenantValues): void {
  if (tenant.tenantId !== HOME_TENANT) return;
  if (status === '1' || expireTime) throw new ConflictError(HOME_TENANT_IS_FIXED);
}
