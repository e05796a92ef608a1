import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { GrantModule } from '../grant/index.js';
import { ModelModule } from '../model/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { KnowledgeBase } from './knowledge.entity.js';
import { KnowledgeContents } from './knowledge-contents.js';
import { KnowledgeController } from './knowledge.controller.js';
import { KnowledgeRepository } from './knowledge.repository.js';
import { KnowledgeService } from './knowledge.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([KnowledgeBase]), GrantModule, ModelModule, VectorStoreModule],
  controllers: [KnowledgeController],
  providers: [KnowledgeContents, KnowledgeRepository, KnowledgeService],
  exports: [KnowledgeContents, KnowledgeService],
})
export class KnowledgeModule {
  constructor(names: AuditNames) {
    names.join('knowledge_base', KnowledgeBase, 'name', { share: 1 });
  }
}
