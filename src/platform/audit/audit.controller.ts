import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { Answers, AnswersPage, WithExport } from '../http/index.js';
import type { Page } from '../http/index.js';
import { AuditChain } from './audit.chain.js';
import {
  AuditEntryView,
  AuditListQuery,
  auditSheet,
  AuditVerifyQuery,
  VerificationView,
} from './audit.dto.js';
import { AuditNames } from './audit-names.repository.js';
import { AuditRepository } from './audit.repository.js';

@ApiTags('audit log')
@Controller('monitor/audit')
export class AuditController {
  constructor(
    private readonly entries: AuditRepository,
    private readonly names: AuditNames,
    private readonly chain: AuditChain,
  ) {}

  /** Who did what in the caller's tenant, newest first. */
  @Get('list')
  @RequirePermission('monitor:audit:list')
  @AnswersPage(AuditEntryView)
  @WithExport(auditSheet, RequirePermission('monitor:audit:export'))
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: AuditListQuery,
  ): Promise<Page<AuditEntryView>> {
    const page = await this.entries.page(caller.tenantId, query);
    const nameOf = await this.names.of(caller.tenantId, page.rows);
    return page.map((entry) => AuditEntryView.of(entry, { targetName: nameOf(entry) }));
  }

  /** Checks the hash chain of the tenant's entries. 100,000 entries a call; `nextAfter` says where to continue. */
  @Get('verify')
  @RequirePermission('monitor:audit:list')
  @Answers(VerificationView)
  async verify(
    @CurrentCaller() caller: Caller,
    @Query() { after }: AuditVerifyQuery,
  ): Promise<VerificationView> {
    return VerificationView.of(await this.chain.verify(caller.tenantId, after));
  }
}
