import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { Provider } from './provider.entity.js';
import {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
} from './adapter.registries.js';
import { ProviderController } from './provider.controller.js';
import { ProviderRepository } from './provider.repository.js';
import { ProviderService } from './provider.service.js';

const registries = [
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
];

@Module({
  imports: [TypeOrmModule.forFeature([Provider])],
  controllers: [ProviderController],
  providers: [ProviderRepository, ProviderService, ...registries],
  exports: [ProviderService, ...registries],
})
export class ProviderModule {
  constructor(names: AuditNames) {
    names.join('provider', Provider, 'providerName');
  }
}
