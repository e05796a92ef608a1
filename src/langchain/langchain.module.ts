import { Module } from '@nestjs/common';
import { hideVariables } from '../platform/config/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { RetrievalModule } from '../retrieval/index.js';
import { LangChain } from './langchain.service.js';

/** They make LangChain send conversations to a tracing service, print them, or read others. */
const VARIABLES = /^(LANGCHAIN|LANGSMITH|LANGGRAPH)_/;

@Module({
  imports: [ModelModule, KnowledgeModule, RetrievalModule],
  providers: [LangChain],
  exports: [LangChain],
})
export class LangChainModule {
  constructor() {
    hideVariables(VARIABLES);
  }
}
