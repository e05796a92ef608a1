import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { Answer } from '../platform/http/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { RetrievalBody } from './retrieval.dto.js';
import { RetrievalService } from './retrieval.service.js';
import { toRetrievalAnswer } from './retrieval.view.js';
import type { RetrievedFragmentView } from './retrieval.view.js';

/** A retrieval that a user runs to test a knowledge base. */
@Injectable()
export class RetrievalTrial {
  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly retrieval: RetrievalService,
  ) {}

  async run(
    caller: Caller,
    body: RetrievalBody,
    signal: AbortSignal,
  ): Promise<Answer<RetrievedFragmentView[]>> {
    const { knowledgeId, query, explain = false, ...overrides } = body;
    const knowledge = await this.knowledge.readable(caller, knowledgeId);
    const result = await this.retrieval.retrieve({
      caller,
      knowledge,
      query,
      overrides,
      explain,
      signal,
    });
    return toRetrievalAnswer(result, explain);
  }
}
