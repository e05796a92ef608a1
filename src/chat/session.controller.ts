import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { ChatBranches } from './branch/chat.branches.js';
import {
  ChooseBranchBody,
  CreateSessionBody,
  SessionListQuery,
  sessionSheet,
  SessionView,
  UpdateSessionBody,
} from './session.dto.js';
import { SessionService } from './session.service.js';

@ApiTags('chat sessions')
@Controller('system/session')
export class SessionController {
  constructor(
    private readonly sessions: SessionService,
    private readonly branches: ChatBranches,
  ) {}

  /** The caller's own sessions. */
  @Get('list')
  @RequirePermission('system:session:list')
  @AnswersPage(SessionView)
  @WithExport(sessionSheet, RequirePermission('system:session:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: SessionListQuery,
  ): Promise<Page<SessionView>> {
    return this.sessions.list(caller, query);
  }

  /** One of the caller's sessions. */
  @Get(':id')
  @RequirePermission('system:session:query')
  @Answers(SessionView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<SessionView> {
    return this.sessions.detail(caller, id);
  }

  /** Opens a session; `data` is its id. */
  @Post()
  @RequirePermission('system:session:add')
  @AnswersId('string')
  create(@CurrentCaller() caller: Caller, @Body() body: CreateSessionBody): Promise<string> {
    return this.sessions.create(caller, body);
  }

  /** Makes the branch through a message with the newest end the current one, which the list of messages answers. */
  @Post('branch')
  @RequirePermission('system:session:edit')
  @AnswersStatus()
  branch(@CurrentCaller() caller: Caller, @Body() body: ChooseBranchBody): Promise<void> {
    return this.branches.choose(caller, body.sessionId, body.messageId);
  }

  /** Changes a session's texts. */
  @Put()
  @RequirePermission('system:session:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateSessionBody): Promise<void> {
    return this.sessions.update(caller, body);
  }

  /** Deletes sessions with all their messages. */
  @Delete(':ids')
  @RequirePermission('system:session:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.sessions.remove(caller, ids);
  }
}
