import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersNullable } from '../../../platform/http/index.js';
import { RunView } from '../run/run.view.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { ApprovePlanBody, RevisePlanBody } from './plan.dto.js';
import { PlanService } from './plan.service.js';
import { PlanView } from './plan.view.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/plan')
export class PlanController {
  constructor(private readonly plans: PlanService) {}

  /** The run's plan with its progress; null when there is none (yet). */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersNullable(PlanView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<PlanView | null> {
    return this.plans.get(caller, { sessionId, runId });
  }

  /** Approves the plan that was shown: the run goes on, and may change the files that it names. */
  @Post('approve')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(RunView)
  approve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: ApprovePlanBody,
  ): Promise<RunView> {
    return this.plans.approve(caller, { sessionId, runId }, body);
  }

  /** Sends the plan back with what should be changed. */
  @Post('revision')
  @RequirePermission('coding:harness:use')
  @Answers(RunView)
  revise(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: RevisePlanBody,
  ): Promise<RunView> {
    return this.plans.requestRevision(caller, { sessionId, runId }, body);
  }
}
