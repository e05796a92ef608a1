import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentModule } from '../agent/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { ApiKeyController } from './api-key.controller.js';
import { ApiKey } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyService } from './api-key.service.js';

/** Keys with which programs act for their owners. */
@Module({
  imports: [TypeOrmModule.forFeature([ApiKey]), ModelModule, KnowledgeModule, AgentModule],
  controllers: [ApiKeyController],
  providers: [
    ApiKeyRepository,
    ApiKeyService,
  ],
})
export class ApiKeyModule {}
