import { Injectable } from '@nestjs/common';
import { LessThan, MoreThanOrEqual, And } from 'typeorm';
import type { FindOperator } from 'typeorm';
import { containing, Database, TenantScoped } from '../database/index.js';
import type { Page, PageQuery } from '../http/index.js';
import { AuditEntry } from './audit.entity.js';

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'tenantId' | 'createTime'>;

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly targetType?: string | undefined;
  readonly targetId?: string | undefined;
  readonly actorId?: number | undefined;
  readonly actorName?: string | undefined;
  readonly from?: Date | undefined;
  /** The end of the range, exclusive. */
  readonly until?: Date | undefined;
}

@Injectable()
export class AuditRepository {
  private readonly entries: TenantScoped<AuditEntry>;

  constructor(database: Database) {
    this.entries = new TenantScoped(database, AuditEntry, 'The audit entry');
  }

  async add(tenantId: string, entry: NewAuditEntry): Promise<void> {
    await this.entries.insert(tenantId, entry);
  }

  async page(tenantId: string, query: PageQuery, filter: AuditFilter): Promise<Page<AuditEntry>> {
    const { action, targetType, targetId, actorId, actorName, from, until } = filter;
    return this.entries.page(
      tenantId,
      query,
      {
        ...(action && { action }),
        ...(targetType && { targetType }),
        ...(targetId && { targetId }),
        ...(actorId && { actorId }),
        ...(actorName && { actorName: containing(actorName) }),
        ...((from ?? until) && { createTime: between(from, until) }),
      },
      { id: 'DESC' },
    );
  }
}

function between(from: Date | undefined, until: Date | undefined): FindOperator<Date> {
  return And(...(from ? [MoreThanOrEqual(from)] : []), ...(until ? [LessThan(until)] : []));
}
