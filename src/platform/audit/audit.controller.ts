import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { AnswersPage, AnswersWorkbook, TimeRangeQuery } from '../http/index.js';
import type { ListReader, Page } from '../http/index.js';
import { AuditEntryView, AuditListQuery, auditSheet } from './audit.dto.js';
import { AuditNames } from './audit-names.repository.js';
import { AuditRepository } from './audit.repository.js';

@ApiTags('audit log')
@Controller('monitor/audit')
export class AuditController {
  constructor(
    private readonly entries: AuditRepository,
    private readonly names: AuditNames,
  ) {}

  /** Who did what in the caller's tenant, newest first. */
  @Get('list')
  @RequirePermission('monitor:audit:list')
  @TimeRangeQuery()
  @AnswersPage(AuditEntryView)
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: AuditListQuery,
  ): Promise<Page<AuditEntryView>> {
    const page = await this.entries.page(caller.tenantId, query);
    const nameOf = await this.names.of(caller.tenantId, page.rows);
    return page.map((entry) => AuditEntryView.of(entry, { targetName: nameOf(entry) }));
  }

  /** The rows of the list as a workbook. */
  @Post('export')
  @RequirePermission('monitor:audit:export')
  @AnswersWorkbook(auditSheet)
  export(
    @CurrentCaller() caller: Caller,
    @Body() query: AuditListQuery,
  ): ListReader<AuditEntryView> {
    return (page) => this.list(caller, { ...query, ...page });
  }
}
