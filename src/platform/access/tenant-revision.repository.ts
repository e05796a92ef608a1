import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import { EventBus } from '../event/index.js';

/**
 * The number that every change of a provider, model, role or user of a tenant increments, in the same transaction.
 * A cache of a tenant stores the revision at which it was read and is valid only while that revision is current.
 */
@Injectable()
export class TenantRevision {
  constructor(
    private readonly database: Database,
    private readonly bus: EventBus,
  ) {}

  /** Increments the revision. Call it in the transaction of the change. */
  async increment(tenantId: string): Promise<void> {
    await this.database.query('UPDATE tenant SET revision = revision + 1 WHERE tenant_id = $1', [
      tenantId,
    ]);
  }

  /** `increment` for changes of users, roles or the tenant: open streams are checked after the commit. */
  async incrementAccess(tenantId: string): Promise<void> {
    await this.increment(tenantId);
    await this.database.afterCommit(() => this.bus.publish('access.changed', { tenantId }));
  }

  /** The current revision, for work without a request; 0 for a tenant that does not exist. */
  async current(tenantId: string): Promise<number> {
    const [row] = await this.database.query<{ revision: number }>(
      'SELECT revision FROM tenant WHERE tenant_id = $1',
      [tenantId],
    );
    return row?.revision ?? 0;
  }
}
