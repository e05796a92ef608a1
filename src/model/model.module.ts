import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { GrantModule } from '../grant/index.js';
import { ProviderModule } from '../provider/index.js';
import { UsageModule } from '../usage/index.js';
import { Model, ModelKey } from './model.entity.js';
import {
  CredentialVault,
  HostIdentity,
  ModelKeyRepository,
  ModelRepository,
} from './model.repository.js';
import { UpstreamCalls } from './calls/upstream.calls.js';
import { UpstreamHealth } from './calls/upstream.health.js';
import { CompletionClient } from './completion/completion.client.js';
import { ModelDiagnosis } from './diagnosis/model.diagnosis.js';
import { ModelFindings } from './model.findings.js';
import { EmbeddingClient } from './embedding/embedding.client.js';
import { ModelAdapters } from './model.adapters.js';
import { ModelController } from './model.controller.js';
import { ModelResolver } from './model.resolver.js';
import { ModelService } from './model.service.js';
import { OfferedModelsController } from './offered/offered-models.controller.js';
import { OfferedModelsService } from './offered/offered-models.service.js';
import { RerankClient } from './reranking/rerank.client.js';

@Module({
  imports: [TypeOrmModule.forFeature([Model, ModelKey]), GrantModule, ProviderModule, UsageModule],
  controllers: [ModelController, OfferedModelsController],
  providers: [
    CredentialVault,
    HostIdentity,
    ModelAdapters,
    ModelRepository,
    ModelKeyRepository,
    ModelService,
    ModelResolver,
    UpstreamHealth,
    ModelFindings,
    UpstreamCalls,
    CompletionClient,
    EmbeddingClient,
    RerankClient,
    ModelDiagnosis,
    OfferedModelsService,
  ],
  exports: [
    ModelService,
    ModelResolver,
    UpstreamCalls,
    CompletionClient,
    EmbeddingClient,
    RerankClient,
  ],
})
export class ModelModule {
  constructor(names: AuditNames) {
    names.join('model', Model, 'modelName');
  }
}
