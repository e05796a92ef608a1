import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';

/** Decides which tenants may call models with the identity that the cloud gave to this host. */
@Injectable()
export class HostIdentity {
  private readonly tenants: readonly string[];

  constructor(@Inject(CONFIG) config: Config) {
    this.tenants = config.HOST_IDENTITY_TENANTS;
  }

  isAllowed(tenantId: string): boolean {
    return this.tenants.includes('*') || this.tenants.includes(tenantId);
  }
}
