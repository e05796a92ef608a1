import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { ConflictError } from '../error/index.js';
import { AnswersPage, AnswersStatus, AnswersWorkbook } from '../http/index.js';
import type { ListReader, Page } from '../http/index.js';
import { msg } from '../message/index.js';
import { AuditRepository } from './audit.repository.js';
import {
  operationLogSheet,
  OperationLogQuery,
  OperationLogView,
  signInLogSheet,
  SignInLogQuery,
  SignInLogView,
  toOperationLogView,
  toSignInLogView,
} from './console-log.dto.js';

class KeptEntriesError extends ConflictError {
  constructor() {
    super(msg`Entries of the audit log cannot be deleted. They are deleted with their tenant.`);
  }
}

@ApiTags('audit log')
@Controller('monitor')
export class ConsoleLogController {
  constructor(private readonly entries: AuditRepository) {}

  /** The entries of the audit log but those of sign-ins, newest first, as existing consoles read them. */
  @Get('operlog/list')
  @RequirePermission('monitor:operlog:list')
  @AnswersPage(OperationLogView)
  async operations(
    @CurrentCaller() caller: Caller,
    @Query() query: OperationLogQuery,
  ): Promise<Page<OperationLogView>> {
    return (await this.entries.operations(caller.tenantId, query)).map(toOperationLogView);
  }

  /** The rows of the list as a workbook. */
  @Post('operlog/export')
  @RequirePermission('monitor:operlog:export')
  @AnswersWorkbook(operationLogSheet)
  exportOperations(
    @CurrentCaller() caller: Caller,
    @Body() query: OperationLogQuery,
  ): ListReader<OperationLogView> {
    return (page) => this.operations(caller, { ...query, ...page });
  }

  /** The buttons that delete entries, or all with `clean`. Always refused. */
  @Delete('operlog/:entries')
  @LoginOnly()
  @AnswersStatus()
  removeOperations(@Param('entries') _entries: string): never {
    throw new KeptEntriesError();
  }

  /** The same for the sign-in log. */
  @Delete('logininfor/:entries')
  @LoginOnly()
  @AnswersStatus()
  removeSignIns(@Param('entries') _entries: string): never {
    throw new KeptEntriesError();
  }

  /** Sign-ins, failed ones included, and registrations, newest first, as existing consoles read them. */
  @Get('logininfor/list')
  @RequirePermission('monitor:logininfor:list')
  @AnswersPage(SignInLogView)
  async signIns(
    @CurrentCaller() caller: Caller,
    @Query() query: SignInLogQuery,
  ): Promise<Page<SignInLogView>> {
    return (await this.entries.signIns(caller.tenantId, query)).map(toSignInLogView);
  }

  /** The rows of the list as a workbook. */
  @Post('logininfor/export')
  @RequirePermission('monitor:logininfor:export')
  @AnswersWorkbook(signInLogSheet)
  exportSignIns(
    @CurrentCaller() caller: Caller,
    @Body() query: SignInLogQuery,
  ): ListReader<SignInLogView> {
    return (page) => this.signIns(caller, { ...query, ...page });
  }
}
