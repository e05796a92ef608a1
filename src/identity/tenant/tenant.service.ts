import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import {
  inHomeTenant,
  requireSuperAdmin,
  TenantLifecycle,
  TenantRevision,
} from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { inTenant, isDeadlock } from '../../platform/database/index.js';
import { ConflictError, NotFoundError } from '../../platform/error/index.js';
import { givenTime } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { AccessChange } from '../access/access.change.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import { HOME_TENANT } from '../role/role.entity.js';
import type { ChangedTenantDto, NewTenantDto, TenantListQuery } from './tenant.dto.js';
import type { Tenant } from './tenant.entity.js';
import { TenantProvisioner } from './tenant.provisioner.js';
import { TenantRepository } from './tenant.repository.js';
import { toTenantView } from './tenant.view.js';
import type { TenantView } from './tenant.view.js';

/**
 * A removal locks the tenant and then its rows. Work in the tenant locks a row and then the tenant, to add another row.
 * No order of locks avoids that deadlock, so a removal that the database aborts is retried.
 */
const ATTEMPTS = 5;

/** The tenants of the installation, for super administrators only. */
@Injectable()
export class TenantService {
  constructor(
    private readonly tenants: TenantRepository,
    private readonly provisioner: TenantProvisioner,
    private readonly lifecycle: TenantLifecycle,
    private readonly revision: TenantRevision,
    private readonly change: AccessChange,
    private readonly logins: LoginSessionService,
  ) {}

  async list(caller: Caller, query: TenantListQuery): Promise<Page<TenantView>> {
    requireSuperAdmin(caller);
    return (await this.tenants.page(query, query)).map(toTenantView);
  }

  async detail(caller: Caller, id: number): Promise<TenantView> {
    requireSuperAdmin(caller);
    return toTenantView(await this.tenants.get(id));
  }

  async create(caller: Caller, given: NewTenantDto): Promise<void> {
    requireSuperAdmin(caller);
    const { username, password, tenantId, ...rest } = given;
    const values = valuesOf(rest);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const id = tenantId ?? (await this.freeTenantId());
        if (await this.tenants.byTenantId(id)) {
          throw new ConflictError(
            `The tenant id ${id} is taken. Choose another one, or give none.`,
          );
        }
        const first = { userName: username, password };
        return this.provisioner.provision({ ...values, tenantId: id }, first);
      },
      (tenant) => [{ action: 'create', target: 'tenant', id: tenant.tenantId }],
    );
  }

  async update(caller: Caller, { id, ...given }: ChangedTenantDto): Promise<void> {
    requireSuperAdmin(caller);
    const values = valuesOf(given);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const tenant = await this.tenants.get(id);
        requireNotFixed(tenant, values);
        await this.tenants.update(id, values);
        await this.revision.incrementAccess(tenant.tenantId);
        return tenant;
      },
      ({ tenantId }) => [
        {
          action: 'update',
          target: 'tenant',
          id: tenantId,
          detail: { fields: Object.keys(values) },
        },
      ],
    );
  }

  async changeStatus(caller: Caller, id: number, status: string): Promise<void> {
    requireSuperAdmin(caller);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const tenant = await this.tenants.get(id);
        requireNotFixed(tenant, { status });
        await this.tenants.update(id, { status });
        await this.revision.incrementAccess(tenant.tenantId);
        return tenant;
      },
      ({ tenantId }) => [
        { action: 'status-change', target: 'tenant', id: tenantId, detail: { status } },
      ],
    );
  }

  /** Deletes the tenants with everything they own. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    requireSuperAdmin(caller);
    for (let left = ATTEMPTS; ; left -= 1) {
      try {
        await this.removeAll(caller, ids);
        return;
      } catch (error) {
        if (left === 1 || !isDeadlock(error)) throw error;
      }
    }
  }

  /** From the next request on, the sign-in of the caller works in the tenant. */
  async enter(caller: Caller, tenantId: string): Promise<void> {
    requireSuperAdmin(caller);
    if (!(await this.tenants.byTenantId(tenantId))) throw new NotFoundError('The tenant');
    await this.logins.switchTenant(caller, tenantId === caller.homeTenantId ? null : tenantId);
  }

  async leave(caller: Caller): Promise<void> {
    await this.logins.switchTenant(caller, null);
  }

  private async removeAll(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const tenants = await this.tenants.byIds(ids);
        if (tenants.length !== ids.length) throw new NotFoundError('The tenant');
        for (const { tenantId } of tenants) {
          if (tenantId === HOME_TENANT) throw new ConflictError(HOME_TENANT_IS_FIXED);
          await this.revision.incrementAccess(tenantId);
          await inTenant(tenantId, async () => {
            await this.lifecycle.deleting(tenantId);
            await this.tenants.erase(tenantId);
          });
        }
        return tenants;
      },
      (tenants) =>
        tenants.map(({ tenantId }) => ({ action: 'delete', target: 'tenant', id: tenantId })),
    );
  }

  private async freeTenantId(): Promise<string> {
    for (;;) {
      const tenantId = String(randomInt(100_000, 1_000_000));
      if (!(await this.tenants.byTenantId(tenantId))) return tenantId;
    }
  }
}

const HOME_TENANT_IS_FIXED = `The tenant ${HOME_TENANT} belongs to the installation: it cannot be disabled, expire or be deleted.`;

type TenantValues = Partial<Tenant>;

/** The given columns. An empty expireTime means never. */
function valuesOf({ expireTime, ...given }: Omit<ChangedTenantDto, 'id'>): TenantValues {
  const columns: TenantValues = Object.fromEntries(
    Object.entries<unknown>(given).filter(([, value]) => value !== undefined),
  );
  if (expireTime === undefined) return columns;
  return {
    ...columns,
    expireTime: expireTime === '' ? null : givenTime('expireTime', expireTime, 'start'),
  };
}

function requireNotFixed(tenant: Tenant, { status, expireTime }: TenantValues): void {
  if (tenant.tenantId !== HOME_TENANT) return;
  if (status === '1' || expireTime) throw new ConflictError(HOME_TENANT_IS_FIXED);
}
