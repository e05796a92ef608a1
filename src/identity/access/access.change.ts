import { Injectable } from '@nestjs/common';
import { TenantRevision } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import type { AuditActor, AuditRecord } from '../../platform/audit/index.js';
import { Database, inTenant } from '../../platform/database/index.js';

/**
 * A change of what users of a tenant may do: one transaction that invalidates caches, checks open streams after the
 * commit and writes to the audit log. Changes of one tenant run one after the other, so that what a change has counted
 * or compared still holds when it is committed.
 */
@Injectable()
export class AccessChange {
  constructor(
    private readonly database: Database,
    private readonly revision: TenantRevision,
    private readonly audit: AuditLog,
  ) {}

  async apply<Result>(
    actor: AuditActor,
    change: () => Promise<Result>,
    entries: (result: Result) => readonly AuditRecord[],
  ): Promise<Result> {
    const { tenantId } = actor;
    const apply = async (): Promise<Result> => {
      // First: it locks the row of the tenant until the transaction ends.
      await this.revision.incrementAccess(tenantId);
      const result = await change();
      for (const entry of entries(result)) await this.audit.record(actor, entry);
      return result;
    };
    return inTenant(tenantId, () => this.database.transaction(apply));
  }
}
