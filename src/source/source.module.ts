import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { AttachModule } from '../attach/index.js';
import { GrantModule } from '../grant/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { Connectors } from './connectors.js';
import { WebFetch } from './fetch.js';
import { GitConnector } from './git.connector.js';
import { ReaderResolution } from './reader-resolution.js';
import { S3Connector } from './s3.connector.js';
import { SourceController } from './source.controller.js';
import { KnowledgeSource, SourceReader, SourceRun } from './source.entity.js';
import { SourceRepository } from './source.repository.js';
import { SourceRunner } from './source.runner.js';
import { SourceService } from './source.service.js';

/** Places outside of Plinth whose documents are kept in knowledge bases. */
@Module({
  imports: [
    TypeOrmModule.forFeature([KnowledgeSource, SourceReader, SourceRun]),
    AttachModule,
    GrantModule,
    KnowledgeModule,
    StorageModule,
  ],
  controllers: [SourceController],
  providers: [
    Connectors,
    GitConnector,
    ReaderResolution,
    S3Connector,
    SourceRepository,
    SourceRunner,
    SourceService,
    WebFetch,
  ],
})
export class SourceModule {
  constructor(names: AuditNames) {
    names.join('knowledge_source', KnowledgeSource, 'name');
  }
}
