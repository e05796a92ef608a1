import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AnswersArray, WhileConnected } from '../platform/http/index.js';
import type { Answer } from '../platform/http/index.js';
import { RetrievalBody } from './retrieval.dto.js';
import { RetrievalTrial } from './retrieval.trial.js';
import { besideRetrieved, RetrievedFragmentView } from './retrieval.view.js';

@ApiTags('fragments')
@Controller('system/fragment')
export class RetrievalController {
  constructor(private readonly trial: RetrievalTrial) {}

  /**
   * Searches a knowledge base as a chat does. Beside `data` are the hits of each channel, the scale of `score`, whether a
   * reranker was used, and with `explain` what was dropped and why; `msg` says what failed.
   */
  @Post('retrieval')
  @RequirePermission('system:fragment:list')
  @AnswersArray(RetrievedFragmentView, besideRetrieved)
  retrieve(
    @CurrentCaller() caller: Caller,
    @Body() body: RetrievalBody,
    @WhileConnected() signal: AbortSignal,
  ): Promise<Answer<RetrievedFragmentView[]>> {
    return this.trial.run(caller, body, signal);
  }
}
