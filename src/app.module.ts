import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { AccessModule } from './platform/access/index.js';
import { AgentModule } from './agent/index.js';
import { ApiKeyModule } from './apikey/index.js';
import { AttachModule } from './attach/index.js';
import { AuditModule } from './platform/audit/index.js';
import { ChatModule } from './chat/index.js';
import { ConsoleFiles, ConsoleModule } from './platform/console/index.js';
import { CONFIG, ConfigModule } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { DatabaseModule, domainErrorOf } from './platform/database/index.js';
import type { DatabaseOptions } from './platform/database/index.js';
import { DemoModule } from './demo/index.js';
import { DictionaryModule } from './dictionary/index.js';
import { CompatModule } from './compat/index.js';
import { COMPATIBLE_API_FAILURES, CompatibleApiModule } from './compatible-api/index.js';
import { ErrorFilter } from './platform/error/index.js';
import type { FailureShape } from './platform/error/index.js';
import { EventModule } from './platform/event/index.js';
import { GrantModule } from './grant/index.js';
import { FragmentModule } from './fragment/index.js';
import { HarnessModule } from './harness/index.js';
import { ScheduleModule } from './schedule/index.js';
import {
  BodyInterceptor,
  BodyModule,
  EnvelopeInterceptor,
  inputPipe,
} from './platform/http/index.js';
import { IdentityModule, scimFailures, ssoFailures } from './identity/index.js';
import { KnowledgeModule } from './knowledge/index.js';
import { McpModule } from './mcp/index.js';
import { McpServerModule, mcpFailures } from './mcp-server/index.js';
import { MediaModule } from './media/index.js';
import type { MediaOptions } from './media/index.js';
import { NoticeModule } from './notice/index.js';
import { ModelModule } from './model/index.js';
import { OAuthModule, oauthFailures } from './oauth/index.js';
import { ObservabilityModule } from './platform/observability/index.js';
import { OutboundModule } from './platform/outbound/index.js';
import { ProviderModule } from './provider/index.js';
import { jobKindsOf, QueueModule } from './platform/queue/index.js';
import { RetentionModule } from './platform/retention/index.js';
import { RetrievalModule } from './retrieval/index.js';
import { SkillModule } from './skill/index.js';
import { SourceModule } from './source/index.js';
import { StorageModule } from './platform/storage/index.js';
import { VectorStoreModule } from './vector-store/index.js';
import { WebModule } from './web/index.js';

export interface AppOptions extends DatabaseOptions {
  readonly media?: MediaOptions;
}

/** Errors of the coding harness have an `errorCode` (docs/HARNESS.md, Errors). */
export const CODED_ERRORS = /^\/coding\/harness(\/|$)/i;

/** Interfaces with HTTP statuses and errors of their own instead of the envelope. */
export function failureShapes(config: Config): readonly FailureShape[] {
  return [
    ...COMPATIBLE_API_FAILURES,
    scimFailures,
    ssoFailures,
    oauthFailures,
    ...mcpFailures(config),
  ];
}

function errorFilter(pages: ConsoleFiles, config: Config): ErrorFilter {
  return new ErrorFilter(
    CODED_ERRORS,
    domainErrorOf,
    (request, response) => pages.answerNotFound(request, response),
    failureShapes(config),
  );
}

/** The root module: the features, and the global guards, pipe, interceptor and filter. */
@Module({})
export class AppModule {
  static for(config: Config, { media: mediaOptions, ...database }: AppOptions = {}): DynamicModule {
    const media = MediaModule.for(mediaOptions);
    const compatibleApi = CompatibleApiModule.for(media);
    const mcpServer = McpServerModule.for(compatibleApi);
    return {
      module: AppModule,
      imports: [
        // ChatModule comes first, because the router matches routes in this order and chat is the hot path.
        ChatModule,
        compatibleApi,
        ConfigModule.for(config),
        DatabaseModule.for(database),
        QueueModule.for(config, jobKindsOf(config)),
        BodyModule,
        EventModule,
        OutboundModule,
        AccessModule,
        AuditModule,
        RetentionModule,
        ObservabilityModule,
        ConsoleModule,
        StorageModule,
        IdentityModule,
        GrantModule,
        DictionaryModule,
        ProviderModule,
        NoticeModule,
        ModelModule,
        SkillModule,
        VectorStoreModule,
        KnowledgeModule,
        FragmentModule,
        AttachModule,
        SourceModule,
        // Its route POST system/fragment/retrieval is below the path of the fragments.
        RetrievalModule,
        media,
        McpModule,
        WebModule,
        AgentModule,
        ApiKeyModule,
        HarnessModule,
        ScheduleModule,
        mcpServer,
        OAuthModule.for(mcpServer),
        ...CompatModule.for(config),
        ...DemoModule.for(config),
      ],
      providers: [
        {
          provide: APP_FILTER,
          useFactory: errorFilter,
          inject: [ConsoleFiles, CONFIG],
        },
        { provide: APP_PIPE, useFactory: inputPipe },
        { provide: APP_INTERCEPTOR, useClass: BodyInterceptor },
        { provide: APP_INTERCEPTOR, useClass: EnvelopeInterceptor },
      ],
    };
  }
}
