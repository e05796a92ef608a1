import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { MessageRepository } from '../../store/message.repository.js';
import { SessionService } from '../session/session.service.js';
import { HarnessMessageListQuery, MESSAGES_PER_PAGE } from './message.dto.js';
import { HarnessMessageView, toHarnessMessageView } from './message.view.js';

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
