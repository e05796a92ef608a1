import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { AgentModule } from '../agent/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { ApiKeyCallers } from '../platform/access/index.js';
import { ApiKeyController } from './api-key.controller.js';
import { ApiKey } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyService } from './api-key.service.js';
import { ApplicationKeys } from './application-keys.js';
import { StoredKeyCallers } from './stored-key.callers.js';

/** Keys with which programs act for their owners. Global, because platform/access resolves the callers of keys here. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([ApiKey]), ModelModule, KnowledgeModule, AgentModule],
  controllers: [ApiKeyController],
  providers: [
    ApiKeyRepository,
    ApiKeyService,
    ApplicationKeys,
    StoredKeyCallers,
    { provide: ApiKeyCallers, useExisting: StoredKeyCallers },
  ],
  exports: [ApiKeyCallers, ApplicationKeys],
})
export class ApiKeyModule {
  constructor(names: AuditNames) {
    names.join('api_key', ApiKey, 'name');
  }
}
