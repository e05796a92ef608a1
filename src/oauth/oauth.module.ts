import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConsentController } from './consent.controller.js';
import { OAuthClients } from './oauth.clients.js';
import { OAuthController } from './oauth.controller.js';
import { OAuthConnection } from './oauth.entity.js';
import { OAuthRepository } from './oauth.repository.js';
import { OAuthService } from './oauth.service.js';

/** The authorization server for POST /mcp. */
@Module({})
export class OAuthModule {
  /** @param mcpServer The McpServerModule of the application. */
  static for(mcpServer: DynamicModule): DynamicModule {
    return {
      module: OAuthModule,
      imports: [TypeOrmModule.forFeature([OAuthConnection]), mcpServer],
      controllers: [OAuthController, ConsentController],
      providers: [OAuthClients, OAuthRepository, OAuthService],
    };
  }
}
