import { Module } from '@nestjs/common';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { RetrievalModule } from '../retrieval/index.js';
import { LangChain } from './langchain.service.js';

@Module({
  imports: [ModelModule, KnowledgeModule, RetrievalModule],
  providers: [LangChain],
  exports: [LangChain],
})
export class LangChainModule {}
