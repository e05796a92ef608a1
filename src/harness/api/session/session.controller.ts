import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersArray } from '../../../platform/http/index.js';
import { SessionService } from './session.service.js';
import {
  CreateHarnessSessionBody,
  PinSessionBody,
  HarnessSessionListQuery,
} from './session.dto.js';
import { HarnessSessionView } from './session.view.js';
import { UuidPipe } from './uuid.pipe.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions')
@RequirePermission('coding:harness:use')
export class HarnessSessionController {
  constructor(private readonly sessions: SessionService) {}

  /** Creates a session. Any permissionMode but READ_ONLY needs coding:harness:write, too. */
  @Post()
  @Answers(HarnessSessionView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateHarnessSessionBody,
  ): Promise<HarnessSessionView> {
    return this.sessions.create(caller, body);
  }

  /** The caller's own sessions, or for super administrators those of a user; pinned ones first, newest first. */
  @Get()
  @AnswersArray(HarnessSessionView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: HarnessSessionListQuery,
  ): Promise<HarnessSessionView[]> {
    return this.sessions.list(caller, query);
  }

  /** One session, deleted or not. */
  @Get(':sessionId')
  @Answers(HarnessSessionView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    return this.sessions.detail(caller, sessionId);
  }

  /** Keeps the session at the top of the list, or unpins it. */
  @Put(':sessionId/pin')
  @Answers(HarnessSessionView)
  pin(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Body() { pinned }: PinSessionBody,
  ): Promise<HarnessSessionView> {
    return this.sessions.pin(caller, sessionId, pinned);
  }

  /** Hides the session and cancels its unfinished run. */
  @Delete(':sessionId')
  @Answers(HarnessSessionView)
  remove(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    return this.sessions.remove(caller, sessionId);
  }

  /** Brings a deleted session back. */
  @Post(':sessionId/restore')
  @Answers(HarnessSessionView)
  restore(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    return this.sessions.restore(caller, sessionId);
  }
}
