import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProviderModule } from '../provider/index.js';
import { Model } from './model.entity.js';
import { CredentialRepository } from './credential.repository.js';
import { CredentialRotation } from './credential.rotation.js';
import { CredentialVault } from './credential.vault.js';
import { ModelDiagnosis } from './diagnosis/model.diagnosis.js';
import { ModelEmbedder } from './embedding/model.embedder.js';
import { ModelAdapters } from './model.adapters.js';
import { ModelChoices } from './model.choices.js';
import { ModelController } from './model.controller.js';
import { ModelRepository } from './model.repository.js';
import { ModelResolver } from './model.resolver.js';
import { ModelRules } from './model.rules.js';
import { ModelService } from './model.service.js';
import { Reranker } from './reranking/reranker.js';

@Module({
  imports: [TypeOrmModule.forFeature([Model]), ProviderModule],
  controllers: [ModelController],
  providers: [
    CredentialVault,
    CredentialRepository,
    CredentialRotation,
    ModelAdapters,
    ModelRepository,
    ModelRules,
    ModelService,
    ModelChoices,
    ModelResolver,
    ModelEmbedder,
    Reranker,
    ModelDiagnosis,
  ],
  exports: [ModelService, ModelResolver, ModelEmbedder, Reranker],
})
export class ModelModule {}
