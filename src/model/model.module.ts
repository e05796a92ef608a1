import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProviderModule } from '../provider/index.js';
import { Model } from './model.entity.js';
import { UpstreamCalls } from './calls/upstream.calls.js';
import { CompletionClient } from './completion/completion.client.js';
import { CredentialRepository } from './credential.repository.js';
import { CredentialRotation } from './credential.rotation.js';
import { CredentialVault } from './credential.vault.js';
import { ModelDiagnosis } from './diagnosis/model.diagnosis.js';
import { EmbeddingClient } from './embedding/embedding.client.js';
import { ModelAdapters } from './model.adapters.js';
import { ModelController } from './model.controller.js';
import { ModelRepository } from './model.repository.js';
import { ModelResolver } from './model.resolver.js';
import { ModelService } from './model.service.js';
import { RerankClient } from './reranking/rerank.client.js';

@Module({
  imports: [TypeOrmModule.forFeature([Model]), ProviderModule],
  controllers: [ModelController],
  providers: [
    CredentialVault,
    CredentialRepository,
    CredentialRotation,
    ModelAdapters,
    ModelRepository,
    ModelService,
    ModelResolver,
    UpstreamCalls,
    CompletionClient,
    EmbeddingClient,
    RerankClient,
    ModelDiagnosis,
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
export class ModelModule {}
