import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FragmentModule } from '../fragment/index.js';
import { GrantModule } from '../grant/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { MetadataModule } from '../metadata/index.js';
import { ModelModule } from '../model/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { Attachment, EmbeddedBatch, ModelAnswer } from './attachment.entity.js';
import { AttachController } from './attach.controller.js';
import { AttachRepository } from './attach.repository.js';
import { AttachService } from './attach.service.js';
import { DocumentReader } from './document.reader.js';
import { FolderImport } from './loader/folder-import.js';
import { DocumentParser } from './parser/index.js';
import { ContextWriter } from './parsing/fragment-context.js';
import { DocumentIndexer } from './parsing/document-indexer.js';
import { FragmentEmbedder } from './parsing/fragment-embedder.js';
import { LostVectors } from './parsing/lost-vectors.js';
import { LostVectorsRepository, VectorHomesRepository } from './parsing/vectors.repository.js';
import { PageReader } from './parsing/page-reader.js';
import { ParsingQueue } from './parsing/parsing.queue.js';
import { ParsingWorker } from './parsing/parsing.worker.js';
import { ParsingRepository } from './parsing/parsing.repository.js';
import { VectorHomes } from './parsing/vector-homes.js';
import { PreviewController } from './preview/preview.controller.js';
import { PreviewService } from './preview/preview.service.js';
import { TextRecognitions } from './recognition/index.js';
import { ReconciliationRepository } from './reconciliation/reconciliation.repository.js';
import { VectorReconciliation } from './reconciliation/vector-reconciliation.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Attachment, EmbeddedBatch, ModelAnswer]),
    GrantModule,
    KnowledgeModule,
    FragmentModule,
    MetadataModule,
    ModelModule,
    StorageModule,
    VectorStoreModule,
  ],
  controllers: [AttachController, PreviewController],
  providers: [
    AttachRepository,
    AttachService,
    ContextWriter,
    DocumentIndexer,
    DocumentParser,
    DocumentReader,
    FolderImport,
    FragmentEmbedder,
    LostVectors,
    LostVectorsRepository,
    PageReader,
    ParsingQueue,
    ParsingRepository,
    ParsingWorker,
    PreviewService,
    ReconciliationRepository,
    TextRecognitions,
    VectorHomes,
    VectorHomesRepository,
    VectorReconciliation,
  ],
  exports: [AttachService, DocumentReader, FolderImport, LostVectors],
})
export class AttachModule {}
