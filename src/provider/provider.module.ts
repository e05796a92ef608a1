import { Module } from '@nestjs/common';
import { ChatAdapterRegistry } from './chat-adapter.registry.js';
import { ProviderController } from './provider.controller.js';
import { ProviderRepository } from './provider.repository.js';
import { ProviderService } from './provider.service.js';

@Module({
  controllers: [ProviderController],
  providers: [ProviderRepository, ProviderService, ChatAdapterRegistry],
  exports: [ProviderService, ChatAdapterRegistry],
})
export class ProviderModule {}
