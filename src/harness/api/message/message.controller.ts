import { Controller, Get, Injectable, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AnswersArray } from '../../../platform/http/index.js';
import { MessageRepository } from '../../store/message.repository.js';
import { SessionService } from '../session/session.service.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { HarnessMessageListQuery, MESSAGES_PER_PAGE } from './message.dto.js';
import { HarnessMessageView, toHarnessMessageView } from './message.view.js';

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

/** Text of one page at most, so that large messages do not fill the memory. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** What was said in sessions, for those who may see them. */
@Injectable()
export class MessageService {
  constructor(
    private readonly sessions: SessionService,
    private readonly messages: MessageRepository,
  ) {}

  /** The messages after a number, of all runs of the session, in their order. */
  async list(
    caller: Caller,
    sessionId: string,
    { afterSequence: after = 0, limit = MESSAGES_PER_PAGE }: HarnessMessageListQuery,
  ): Promise<HarnessMessageView[]> {
    const session = await this.sessions.own(caller, sessionId);
    const page = await this.messages.page(session, { after, limit, bytes: PAGE_BYTES });
    return page.map(toHarnessMessageView);
  }
}
