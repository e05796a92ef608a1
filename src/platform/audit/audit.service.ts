import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import { readTimeRange } from '../http/index.js';
import type { Page } from '../http/index.js';
import type { AuditListQuery } from './audit.dto.js';
import { AuditRepository } from './audit.repository.js';
import { toAuditEntryView } from './audit.view.js';
import type { AuditEntryView } from './audit.view.js';

@Injectable()
export class AuditService {
  constructor(private readonly entries: AuditRepository) {}

  /** The entries of the caller's tenant, newest first. */
  async list(caller: Caller, query: AuditListQuery): Promise<Page<AuditEntryView>> {
    const range = readTimeRange(query.params);
    const page = await this.entries.page(caller.tenantId, query, { ...query, ...range });
    return page.map(toAuditEntryView);
  }
}
