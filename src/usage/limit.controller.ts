import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersPage, AnswersStatus, IdPipe, IdsPipe } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { ChangedLimitDto, LimitListQuery, NewLimitDto } from './limit.dto.js';
import { LimitService } from './limit.service.js';
import { LimitView } from './limit.view.js';

@ApiTags('limits')
@Controller('system/limit')
export class LimitController {
  constructor(private readonly limits: LimitService) {}

  /** The limits of the tenant with what is used of them now, newest first. */
  @Get('list')
  @RequirePermission('system:limit:list')
  @AnswersPage(LimitView)
  list(@CurrentCaller() caller: Caller, @Query() query: LimitListQuery): Promise<Page<LimitView>> {
    return this.limits.list(caller, query);
  }

  /** One limit with what is used of it now. */
  @Get(':id')
  @RequirePermission('system:limit:query')
  @Answers(LimitView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<LimitView> {
    return this.limits.get(caller, id);
  }

  /** Creates a limit. What the usage ledger says was used in its period counts. */
  @Post()
  @RequirePermission('system:limit:add')
  @Answers(LimitView)
  create(@CurrentCaller() caller: Caller, @Body() body: NewLimitDto): Promise<LimitView> {
    return this.limits.create(caller, body);
  }

  /** Changes how much may be used. To limit something else, create another limit. */
  @Put()
  @RequirePermission('system:limit:edit')
  @Answers(LimitView)
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedLimitDto): Promise<LimitView> {
    return this.limits.update(caller, body);
  }

  /** Removes limits. Calls that wait for nothing else succeed at once. */
  @Delete(':ids')
  @RequirePermission('system:limit:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.limits.remove(caller, ids);
  }
}
