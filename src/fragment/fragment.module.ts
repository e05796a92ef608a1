import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KnowledgeModule } from '../knowledge/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { DocumentRepository, FragmentRepository } from './fragment.repository.js';
import { Fragment, VectorRemoval } from './fragment.entity.js';
import { KeywordBlock, KeywordDocument, KeywordPosting } from './keyword/keyword.entity.js';
import { FragmentController } from './fragment.controller.js';
import { FragmentService } from './fragment.service.js';
import { FragmentVectors, VectorRemovals } from './vector-removals.js';
import { KeywordIndex } from './keyword/keyword-index.js';
import { KeywordRepository } from './keyword/keyword.repository.js';
import { TextAnalysis } from './keyword/text-analysis.js';
import { VectorRemovalRepository } from './vector-removal.repository.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([
      Fragment,
      KeywordBlock,
      KeywordDocument,
      KeywordPosting,
      VectorRemoval,
    ]),
    KnowledgeModule,
    VectorStoreModule,
  ],
  controllers: [FragmentController],
  providers: [
    DocumentRepository,
    FragmentRepository,
    FragmentService,
    FragmentVectors,
    KeywordIndex,
    KeywordRepository,
    TextAnalysis,
    VectorRemovalRepository,
    VectorRemovals,
  ],
  exports: [DocumentRepository, FragmentService, KeywordIndex],
})
export class FragmentModule {}
