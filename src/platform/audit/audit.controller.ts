import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { AnswersPage, TimeRangeQuery } from '../http/index.js';
import type { Page } from '../http/index.js';
import { AuditListQuery } from './audit.dto.js';
import { AuditService } from './audit.service.js';
import { AuditEntryView } from './audit.view.js';

@ApiTags('audit log')
@Controller('monitor/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /** Who did what in the caller's tenant, newest first. */
  @Get('list')
  @RequirePermission('monitor:audit:list')
  @TimeRangeQuery()
  @AnswersPage(AuditEntryView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: AuditListQuery,
  ): Promise<Page<AuditEntryView>> {
    return this.audit.list(caller, query);
  }
}
