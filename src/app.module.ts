import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { AccessModule } from './access/index.js';
import { ConfigModule } from './config/index.js';
import type { Config } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import type { DatabaseOptions } from './database/index.js';
import { entities } from './entities.js';
import { ErrorFilter } from './error/index.js';
import { EventModule } from './event/index.js';
import { EnvelopeInterceptor, inputPipe } from './http/index.js';
import { IdentityModule } from './identity/index.js';
import { OutboundModule } from './outbound/index.js';

export type AppOptions = Omit<DatabaseOptions, 'entities'>;

/** The table of contents: the features, and what every request passes through. */
@Module({})
export class AppModule {
  static for(config: Config, options: AppOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.for(config),
        DatabaseModule.for({ ...options, entities }),
        EventModule,
        OutboundModule,
        AccessModule,
        IdentityModule,
      ],
      providers: [
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: APP_PIPE, useFactory: inputPipe },
        { provide: APP_INTERCEPTOR, useClass: EnvelopeInterceptor },
      ],
    };
  }
}
