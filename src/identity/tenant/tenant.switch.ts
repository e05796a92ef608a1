import { Injectable } from '@nestjs/common';
import { requireSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { LoginSessionRepository } from '../sign-in/login-session.repository.js';
import { atHome } from '../sign-in/sign-in.service.js';
import { TenantRepository } from './tenant.repository.js';

/** How a super administrator works in another tenant: from the next request of the same sign-in on. */
@Injectable()
export class TenantSwitch {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
    private readonly sessions: LoginSessionRepository,
    private readonly audit: AuditLog,
  ) {}

  async enter(caller: Caller, tenantId: string): Promise<void> {
    requireSuperAdmin(caller);
    if (!(await this.tenants.byTenantId(tenantId))) throw new NotFoundError('The tenant');
    await this.switch(caller, tenantId === caller.homeTenantId ? null : tenantId);
  }

  async leave(caller: Caller): Promise<void> {
    await this.switch(caller, null);
  }

  private async switch(caller: Caller, tenantId: string | null): Promise<void> {
    const { homeTenantId, loginSessionId } = caller;
    const write = async (): Promise<void> => {
      await this.sessions.actFor(homeTenantId, loginSessionId, tenantId);
      const id = tenantId ?? homeTenantId;
      await this.audit.record(atHome(caller), { action: 'switch-tenant', target: 'tenant', id });
    };
    await inTenant(homeTenantId, () => this.database.transaction(write));
  }
}
