import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { AccessModule } from './access/index.js';
import { AgentModule } from './agent/index.js';
import { AttachModule } from './attach/index.js';
import { AuditModule } from './audit/index.js';
import { ChatModule } from './chat/index.js';
import { ConfigModule } from './config/index.js';
import type { Config } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import type { DatabaseOptions } from './database/index.js';
import { DemoModule } from './demo/index.js';
import { DictionaryModule } from './dictionary/index.js';
import { entities } from './entities.js';
import { ErrorFilter } from './error/index.js';
import { EventModule } from './event/index.js';
import { FragmentModule } from './fragment/index.js';
import { HarnessModule } from './harness/index.js';
import { EnvelopeInterceptor, inputPipe } from './http/index.js';
import { IdentityModule } from './identity/index.js';
import { KnowledgeModule } from './knowledge/index.js';
import { MediaModule } from './media/index.js';
import type { MediaOptions } from './media/index.js';
import { ModelModule } from './model/index.js';
import { OperationModule } from './operation/index.js';
import { OutboundModule } from './outbound/index.js';
import { ProviderModule } from './provider/index.js';
import { QueueModule } from './queue/index.js';
import { RetrievalModule } from './retrieval/index.js';
import { SkillModule } from './skill/index.js';
import { StorageModule } from './storage/index.js';
import { VectorStoreModule } from './vector-store/index.js';

export interface AppOptions extends Omit<DatabaseOptions, 'entities'> {
  readonly media?: MediaOptions;
}

/** The coding harness tells its clients by a word what went wrong (harness design, part A). */
const CODED_ERRORS = /^\/coding\/harness(\/|$)/i;

/** The table of contents: the features, and what every request passes through. */
@Module({})
export class AppModule {
  static for(config: Config, { media, ...database }: AppOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        // First, because the router tries routes in this order and chat is the path that must be fast.
        ChatModule,
        ConfigModule.for(config),
        DatabaseModule.for({ ...database, entities }),
        QueueModule,
        EventModule,
        OutboundModule,
        AccessModule,
        AuditModule,
        OperationModule,
        StorageModule,
        IdentityModule,
        DictionaryModule,
        ProviderModule,
        ModelModule,
        SkillModule,
        VectorStoreModule,
        KnowledgeModule,
        FragmentModule,
        AttachModule,
        // Its POST system/fragment/retrieval stands beside the fragments' own routes.
        RetrievalModule,
        MediaModule.for(media),
        AgentModule,
        HarnessModule,
        ...DemoModule.for(config),
      ],
      providers: [
        { provide: APP_FILTER, useValue: new ErrorFilter(CODED_ERRORS) },
        { provide: APP_PIPE, useFactory: inputPipe },
        { provide: APP_INTERCEPTOR, useClass: EnvelopeInterceptor },
      ],
    };
  }
}
