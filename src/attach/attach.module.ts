import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FragmentModule } from '../fragment/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { VectorStoreModule } from '../vector-store/index.js';
import { Attachment, EmbeddedBatch } from './attachment.entity.js';
import { AttachContents } from './attach.contents.js';
import { AttachController } from './attach.controller.js';
import { AttachParsing } from './attach.parsing.js';
import { AttachRepository } from './attach.repository.js';
import { AttachService } from './attach.service.js';
import { AttachUpload } from './attach.upload.js';
import { FolderImport } from './loader/folder-import.js';
import { DocumentParser } from './parser/index.js';
import { DocumentEmbedding } from './parsing/document-embedding.js';
import { DocumentParsing } from './parsing/document-parsing.js';
import { ParsingRepository } from './parsing/parsing.repository.js';
import { ParsingService } from './parsing/parsing.service.js';
import { ParsingWorker } from './parsing/parsing.worker.js';
import { PreviewController } from './preview/preview.controller.js';
import { PreviewService } from './preview/preview.service.js';
import { ReconciliationRepository } from './reconciliation/reconciliation.repository.js';
import { VectorReconciliation } from './reconciliation/vector-reconciliation.js';

@Module({
  imports: [TypeOrmModule.forFeature([Attachment, EmbeddedBatch]), KnowledgeModule, FragmentModule, ModelModule, StorageModule, VectorStoreModule],
  controllers: [AttachController, PreviewController],
  providers: [
    AttachContents,
    AttachParsing,
    AttachRepository,
    AttachService,
    AttachUpload,
    DocumentEmbedding,
    DocumentParser,
    DocumentParsing,
    FolderImport,
    ParsingRepository,
    ParsingService,
    ParsingWorker,
    PreviewService,
    ReconciliationRepository,
    VectorReconciliation,
  ],
  exports: [AttachService, FolderImport],
})
export class AttachModule {}
