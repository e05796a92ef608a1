import { Module } from '@nestjs/common';
import { KnowledgeContents } from './knowledge-contents.js';

@Module({
  providers: [KnowledgeContents],
  exports: [KnowledgeContents],
})
export class KnowledgeModule {}
