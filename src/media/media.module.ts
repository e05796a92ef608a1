import { Module } from '@nestjs/common';
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { ModelModule } from '../model/index.js';
import { MediaTask } from './task/task.entity.js';
import { ContentClient } from './content/content.client.js';
import type { ContentClientOptions } from './content/content.client.js';
import { MediaContentController } from './content/content.controller.js';
import { ContentService } from './content/content.service.js';
import { MediaController } from './media.controller.js';
import { MediaService } from './media.service.js';
import { MediaTaskController } from './task/task.controller.js';
import { TaskRepository } from './task/task.repository.js';

/** Options for tests only; no setting changes them. */
export interface MediaOptions {
  readonly content?: ContentClientOptions;
}

@Module({})
export class MediaModule implements OnApplicationShutdown {
  constructor(private readonly client: ContentClient) {}

  static for({ content }: MediaOptions = {}): DynamicModule {
    return {
      module: MediaModule,
      imports: [TypeOrmModule.forFeature([MediaTask]), ModelModule],
      controllers: [MediaController, MediaContentController, MediaTaskController],
      providers: [
        MediaService,
        TaskRepository,
        {
          provide: ContentClient,
          inject: [CONFIG],
          useFactory: ({ outbound }: Config) => new ContentClient({ ...outbound, ...content }),
        },
        ContentService,
      ],
      exports: [ContentService, MediaService],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }
}
