import { Injectable } from '@nestjs/common';
import { ALL_PERMISSIONS, TenantRevision } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { UserGrants } from './user.grants.js';
import { UserRepository } from './user.repository.js';

/** Whose work it is, and in which tenant it is done. */
export interface UserInTenant {
  readonly userId: number;
  /** The tenant that the user belongs to. */
  readonly homeTenantId: string;
  readonly tenantId: string;
}

/** Callers for work that goes on without a sign-in: jobs, and commands of the installation. */
@Injectable()
export class UserCallers {
  constructor(
    private readonly users: UserRepository,
    private readonly grants: UserGrants,
    private readonly revision: TenantRevision,
  ) {}

  /**
   * The user as of now. Undefined when he is deleted or disabled, when one of the tenants is disabled or has run out,
   * or when he may not act in the tenant (only a super administrator may act in another than his own).
   */
  async find(who: UserInTenant): Promise<Caller | undefined> {
    return inTenant(who.homeTenantId, () => this.current(who));
  }

  /** The same by the user's name; the user belongs to the tenant, or to another one as a super administrator. */
  async named(
    userName: string,
    homeTenantId: string,
    tenantId: string,
  ): Promise<Caller | undefined> {
    const user = await inTenant(homeTenantId, () => this.users.byName(homeTenantId, userName));
    return user ? this.find({ userId: user.id, homeTenantId, tenantId }) : undefined;
  }

  private async current({
    userId,
    homeTenantId,
    tenantId,
  }: UserInTenant): Promise<Caller | undefined> {
    const user = await this.users.active(homeTenantId, userId);
    if (!user) return undefined;
    const homeRevision = await this.revision.current(homeTenantId);
    const grants = await this.grants.of({ tenantId: homeTenantId, userId }, homeRevision);
    const elsewhere = tenantId !== homeTenantId;
    if (elsewhere && !grants.permissions.has(ALL_PERMISSIONS)) return undefined;
    return {
      tenantId,
      homeTenantId,
      userId,
      userName: user.userName,
      clientId: 'job',
      loginSessionId: 'job',
      permissions: grants.permissions,
      roleKeys: grants.roleKeys,
      revision: elsewhere ? await this.revision.current(tenantId) : homeRevision,
    };
  }
}
