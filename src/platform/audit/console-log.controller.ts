import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { AnswersPage, TimeRangeQuery } from '../http/index.js';
import type { Page } from '../http/index.js';
import { AuditRepository } from './audit.repository.js';
import {
  OperationLogQuery,
  OperationLogView,
  SignInLogQuery,
  SignInLogView,
  toOperationLogView,
  toSignInLogView,
} from './console-log.dto.js';

@ApiTags('audit log')
@Controller('monitor')
export class ConsoleLogController {
  constructor(private readonly entries: AuditRepository) {}

  /** The entries of the audit log but those of sign-ins, newest first, as existing consoles read them. */
  @Get('operlog/list')
  @RequirePermission('monitor:operlog:list')
  @TimeRangeQuery()
  @AnswersPage(OperationLogView)
  async operations(
    @CurrentCaller() caller: Caller,
    @Query() query: OperationLogQuery,
  ): Promise<Page<OperationLogView>> {
    return (await this.entries.operations(caller.tenantId, query)).map(toOperationLogView);
  }

  /** Sign-ins, failed ones included, and registrations, newest first, as existing consoles read them. */
  @Get('logininfor/list')
  @RequirePermission('monitor:logininfor:list')
  @TimeRangeQuery()
  @AnswersPage(SignInLogView)
  async signIns(
    @CurrentCaller() caller: Caller,
    @Query() query: SignInLogQuery,
  ): Promise<Page<SignInLogView>> {
    return (await this.entries.signIns(caller.tenantId, query)).map(toSignInLogView);
  }
}
