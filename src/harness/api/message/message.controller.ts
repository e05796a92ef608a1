import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AnswersArray } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { HarnessMessageListQuery } from './message.dto.js';
import { HarnessMessageView } from './message.view.js';
import { MessageService } from './message.service.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/messages')
@RequirePermission('coding:harness:use')
export class HarnessMessageController {
  constructor(private readonly messages: MessageService) {}

  /** What was said in a session, after the number that one has. */
  @Get()
  @AnswersArray(HarnessMessageView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Query() query: HarnessMessageListQuery,
  ): Promise<HarnessMessageView[]> {
    return this.messages.list(caller, sessionId, query);
  }
}
