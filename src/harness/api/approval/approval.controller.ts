import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersArray, AnswersStatus } from '../../../platform/http/index.js';
import { RunView } from '../run/run.view.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { ApprovalReviewService, GrantService, InboxService } from './approval.service.js';
import { InboxQuery, ResolveApprovalBody } from './approval.dto.js';
import { ApprovalView, GrantView } from './approval.view.js';
import { InboxEntryView } from './inbox.view.js';

@ApiTags('coding harness')
@Controller('coding/harness')
export class ApprovalController {
  constructor(
    private readonly decisions: ApprovalReviewService,
    private readonly inbox: InboxService,
  ) {}

  /** Everything in the caller's runs that waits for a person, with what a decision needs. */
  @Get('approvals')
  @RequirePermission('coding:harness:use')
  @AnswersArray(InboxEntryView)
  waiting(@CurrentCaller() caller: Caller, @Query() _query: InboxQuery): Promise<InboxEntryView[]> {
    return this.inbox.list(caller);
  }

  /** All approvals of a run, whatever became of them. */
  @Get('sessions/:sessionId/runs/:runId/approvals')
  @RequirePermission('coding:harness:use')
  @AnswersArray(ApprovalView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ApprovalView[]> {
    return this.decisions.list(caller, sessionId, runId);
  }

  /** Decides about a tool call; the first answer wins. Answers the run. */
  @Post('sessions/:sessionId/runs/:runId/approvals/:approvalId/resolve')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(RunView)
  resolve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('approvalId', UuidPipe) approvalId: string,
    @Body() body: ResolveApprovalBody,
  ): Promise<RunView> {
    return this.decisions.resolve(caller, { sessionId, runId, approvalId }, body);
  }
}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/grants')
export class GrantController {
  constructor(private readonly grants: GrantService) {}

  /** What was granted for the rest of the session and still holds. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(GrantView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<GrantView[]> {
    return this.grants.list(caller, sessionId);
  }

  /** Takes a grant back: the next such call is asked for again. */
  @Delete(':grantId')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @AnswersStatus()
  revoke(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('grantId', UuidPipe) grantId: string,
  ): Promise<void> {
    return this.grants.revoke(caller, sessionId, grantId);
  }
}
