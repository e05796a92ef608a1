import { Injectable } from '@nestjs/common';
import { containing, createdWithin, Database, TenantScoped } from '../database/index.js';
import type { Page } from '../http/index.js';
import type { AuditListQuery } from './audit.dto.js';
import { AuditEntry } from './audit.entity.js';

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'tenantId' | 'createTime'>;

@Injectable()
export class AuditRepository {
  private readonly entries: TenantScoped<AuditEntry>;

  constructor(database: Database) {
    this.entries = new TenantScoped(database, AuditEntry, 'The audit entry');
  }

  async add(tenantId: string, entry: NewAuditEntry): Promise<void> {
    await this.entries.insert(tenantId, entry);
  }

  /** Newest first. */
  async page(tenantId: string, query: AuditListQuery): Promise<Page<AuditEntry>> {
    const { action, targetType, targetId, actorId, actorName } = query;
    const where = {
      ...(action && { action }),
      ...(targetType && { targetType }),
      ...(targetId && { targetId }),
      ...(actorId && { actorId }),
      ...(actorName && { actorName: containing(actorName) }),
      ...createdWithin(query.params),
    };
    return this.entries.page(tenantId, query, where, { id: 'DESC' });
  }
}
