import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersArray } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { RunControl } from './run.control.js';
import { CreateRunBody, RunInputBody, RunListQuery } from './run.dto.js';
import { RunService } from './run.service.js';
import { CancelledRunView, RunView } from './run.view.js';

/** Where coding:harness:write is needed, it is because the session is not READ_ONLY. */
@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs')
@RequirePermission('coding:harness:use')
export class RunController {
  constructor(
    private readonly runs: RunService,
    private readonly control: RunControl,
  ) {}

  /** Starts a run; one at a time in a session. Needs coding:harness:write, too. */
  @Post()
  @Answers(RunView)
  create(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Body() body: CreateRunBody,
  ): Promise<RunView> {
    return this.control.create(caller, sessionId, body);
  }

  /** The runs of a session, newest first. */
  @Get()
  @AnswersArray(RunView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Query() query: RunListQuery,
  ): Promise<RunView[]> {
    return this.runs.list(caller, sessionId, query);
  }

  /** One run as it is now. */
  @Get(':runId')
  @Answers(RunView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunView> {
    return this.runs.detail(caller, sessionId, runId);
  }

  /** Sends an input to a run, or answers its question. Needs coding:harness:write, too. */
  @Post(':runId/inputs')
  @Answers(RunView)
  say(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: RunInputBody,
  ): Promise<RunView> {
    return this.control.addInput(caller, { sessionId, runId }, body);
  }

  /** Cancels a run, from every state. */
  @Post(':runId/cancel')
  @Answers(CancelledRunView)
  cancel(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<CancelledRunView> {
    return this.control.cancel(caller, sessionId, runId);
  }

  /** Resumes a run that is SUSPENDED because its model service was unavailable. Needs coding:harness:write, too. */
  @Post(':runId/resume')
  @Answers(RunView)
  resume(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunView> {
    return this.control.resume(caller, sessionId, runId);
  }
}
