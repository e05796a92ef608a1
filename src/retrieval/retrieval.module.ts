import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AttachModule } from '../attach/index.js';
import { FragmentModule } from '../fragment/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { MetadataModule } from '../metadata/index.js';
import { ModelModule } from '../model/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { Evaluation, TestQuery } from './test-set/test-set.entity.js';
import { NeighbourRepository, RetrievalRepository } from './retrieval.repository.js';
import { NeighbourService } from './neighbours.js';
import { RetrievalService } from './retrieval.service.js';
import { RetrievalController } from './retrieval.controller.js';
import { EvaluationController, TestSetController } from './test-set/test-set.controller.js';
import { EvaluationRepository, TestSetRepository } from './test-set/test-set.repository.js';
import { EvaluationService } from './test-set/evaluation.service.js';
import { Expectations, TestSetService } from './test-set/test-set.service.js';
import { TestSetImport } from './test-set/test-set.import.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Evaluation, TestQuery]),
    AttachModule,
    KnowledgeModule,
    FragmentModule,
    MetadataModule,
    ModelModule,
    StorageModule,
    VectorStoreModule,
  ],
  controllers: [RetrievalController, TestSetController, EvaluationController],
  providers: [
    EvaluationRepository,
    EvaluationService,
    Expectations,
    NeighbourRepository,
    NeighbourService,
    RetrievalRepository,
    RetrievalService,
    TestSetImport,
    TestSetRepository,
    TestSetService,
  ],
  exports: [NeighbourService, RetrievalService, TestSetService],
})
export class RetrievalModule {}
