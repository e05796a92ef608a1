import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import { EventBus } from '../event/index.js';
import { TenantRevisionRepository } from './tenant-revision.repository.js';

/**
 * The number that every change of a provider, model, role or user of a tenant increments, in the same transaction.
 * What is cached for a tenant carries the revision it was read at and is used only while that is the current one.
 */
@Injectable()
export class TenantRevision {
  constructor(
    private readonly revisions: TenantRevisionRepository,
    private readonly database: Database,
    private readonly bus: EventBus,
  ) {}

  /** Call it in the transaction of the change. */
  async increment(tenantId: string): Promise<void> {
    await this.revisions.increment(tenantId);
  }

  /** `increment` for changes of users, roles or the tenant: open streams are checked as soon as it is committed. */
  async incrementAccess(tenantId: string): Promise<void> {
    await this.revisions.increment(tenantId);
    await this.database.afterCommit(() => this.bus.publish('access.changed', { tenantId }));
  }

  /** The current revision, for work that has no request; 0 for a tenant that does not exist. */
  async current(tenantId: string): Promise<number> {
    return this.revisions.current(tenantId);
  }
}
