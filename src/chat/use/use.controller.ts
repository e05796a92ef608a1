import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers } from '../../platform/http/index.js';
import { daysOf, UseQuery, UseView } from './use.dto.js';
import { UseRepository } from './use.repository.js';

@ApiTags('use')
@Controller('monitor/use')
export class ChatUseController {
  constructor(private readonly uses: UseRepository) {}

  /** Turns, tokens, times and failures of the chat of the caller's tenant, by day and by model. */
  @Get()
  @RequirePermission('monitor:use:query')
  @Answers(UseView)
  report(@CurrentCaller() caller: Caller, @Query() query: UseQuery): Promise<UseView> {
    return this.uses.report(caller.tenantId, daysOf(query));
  }
}
