import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import { tenantProblem } from '../tenant/tenant.entity.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import type { TenantChoicesView } from './login.view.js';

const LIMIT = { name: 'tenant-choices', points: 20, seconds: 60 };

/** The tenants to choose from at the sign-in. */
@Injectable()
export class TenantChoices {
  constructor(
    private readonly tenants: TenantRepository,
    private readonly limiter: RateLimiter,
  ) {}

  /** All for a super administrator. Otherwise those with the domain of the page, or all that allow sign-ins. */
  async list(
    caller: Caller | undefined,
    referer: string | undefined,
    ip: string,
  ): Promise<TenantChoicesView> {
    await this.limiter.consume(LIMIT, ip);
    const all = await this.tenants.all();
    const now = new Date();
    const open = all.filter((tenant) => tenantProblem(tenant, now) === undefined);
    const host = hostOf(referer);
    const own = open.filter((tenant) => tenant.domain && tenant.domain.toLowerCase() === host);
    const shown = caller && isSuperAdmin(caller) ? all : own.length > 0 ? own : open;
    return {
      tenantEnabled: true,
      voList: shown.map(({ tenantId, companyName, domain }) => ({ tenantId, companyName, domain })),
    };
  }
}

function hostOf(address: string | undefined): string | undefined {
  return address && URL.canParse(address) ? new URL(address).hostname : undefined;
}
