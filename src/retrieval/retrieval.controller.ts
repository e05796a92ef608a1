import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AnswersArray, WhileConnected } from '../platform/http/index.js';
import type { Answer } from '../platform/http/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { readFilter } from '../metadata/index.js';
import { RetrievalBody } from './retrieval.dto.js';
import { RetrievalService } from './retrieval.service.js';
import {
  alwaysBesideRetrieved,
  besideRetrieved,
  RetrievedFragmentView,
  toRetrievalAnswer,
} from './retrieval.view.js';

@ApiTags('fragments')
@Controller('system/fragment')
export class RetrievalController {
  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly retrieval: RetrievalService,
  ) {}

  /**
   * Searches a knowledge base as a chat does. Beside `data` are the hits of each channel, the scale of `score`, whether a
   * reranker was used, and with `explain` what was dropped and why; `msg` says what failed.
   */
  @Post('retrieval')
  @RequirePermission('system:fragment:list')
  @AnswersArray(RetrievedFragmentView, besideRetrieved, alwaysBesideRetrieved)
  async search(
    @CurrentCaller() caller: Caller,
    @Body() body: RetrievalBody,
    @WhileConnected() signal: AbortSignal,
  ): Promise<Answer<RetrievedFragmentView[]>> {
    const { knowledgeId, query, explain = false, filter: rawFilter, ...overrides } = body;
    const filter = rawFilter && readFilter(rawFilter);
    const knowledge = await this.knowledge.usable(caller, knowledgeId);
    const request = { caller, knowledge, query, overrides, filter, explain, signal };
    return toRetrievalAnswer(await this.retrieval.retrieve(request), explain);
  }
}
