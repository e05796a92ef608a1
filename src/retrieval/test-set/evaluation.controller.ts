import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersPage, IdPipe, WhileConnected } from '../../platform/http/index.js';
import type { Answer, Page } from '../../platform/http/index.js';
import { EvaluateBody, EvaluationListQuery } from './evaluation.dto.js';
import { EvaluationService } from './evaluation.service.js';
import { EvaluationView, NewEvaluationView } from './evaluation.view.js';

@ApiTags('retrieval test sets')
@Controller('system/info/:knowledgeId')
export class EvaluationController {
  constructor(private readonly evaluations: EvaluationService) {}

  /**
   * Runs the test set with the given settings and answers nDCG, recall and MRR with the difference to the run before. It
   * runs as long as its queries and ends when the client disconnects; `msg` has notices about the run.
   */
  @Post('evaluate')
  @RequirePermission('system:info:edit')
  @Answers(NewEvaluationView)
  run(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: EvaluateBody,
    @WhileConnected() signal: AbortSignal,
  ): Promise<Answer<NewEvaluationView>> {
    return this.evaluations.evaluate(caller, knowledgeId, { body, signal });
  }

  /** The runs of a test set, newest first; the last hundred are kept. */
  @Get('evaluation/list')
  @RequirePermission('system:info:query')
  @AnswersPage(EvaluationView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: EvaluationListQuery,
  ): Promise<Page<EvaluationView>> {
    return this.evaluations.list(caller, knowledgeId, query);
  }
}
