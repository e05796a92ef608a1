import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KnowledgeModule } from '../knowledge/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { DocumentRepository } from './document.repository.js';
import { Fragment } from './fragment.entity.js';
import { KeywordBlock, KeywordDocument, KeywordPosting } from './keyword/keyword.entity.js';
import { FragmentController } from './fragment.controller.js';
import { FragmentRepository } from './fragment.repository.js';
import { FragmentService } from './fragment.service.js';
import { FragmentVectors } from './fragment.vectors.js';
import { KeywordIndex } from './keyword/keyword-index.js';
import { KeywordRepository } from './keyword/keyword.repository.js';
import { TextAnalysis } from './keyword/text-analysis.js';
import { VectorRemoval } from './vector-removal.entity.js';
import { VectorRemovalRepository } from './vector-removal.repository.js';
import { VectorRemovals } from './vector-removals.js';

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
