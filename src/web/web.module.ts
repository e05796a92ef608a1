import { Inject, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AttachModule } from '../attach/index.js';
import { AuditNames } from '../platform/audit/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { StorageModule, UploadEngine } from '../platform/storage/index.js';
import { WebFetch } from '../source/index.js';
import { UsageModule } from '../usage/index.js';
import { SearchProvider } from './search-provider.entity.js';
import { SearchProviderRepository } from './search-provider.repository.js';
import { SearchProviderService } from './search-provider.service.js';
import { SearchProviderController } from './web.controller.js';
import { PAGE_FETCH, WebPages } from './web-pages.js';
import { WebSearch } from './web-search.js';

const PAGE_HTTP = Symbol('PAGE_HTTP');

/** Searches and pages of the web. */
@Module({
  imports: [TypeOrmModule.forFeature([SearchProvider]), AttachModule, StorageModule, UsageModule],
  controllers: [SearchProviderController],
  providers: [
    {
      // A model chooses these addresses, and what it reads may steer it: private ones must be named, * does not allow them.
      provide: PAGE_HTTP,
      inject: [CONFIG],
      useFactory: ({ allowedPrivateHosts, outbound }: Config) =>
        new OutboundHttp({
          allowedPrivateHosts: allowedPrivateHosts.filter((host) => host !== '*'),
          ...outbound,
        }),
    },
    {
      provide: PAGE_FETCH,
      inject: [PAGE_HTTP, UploadEngine],
      useFactory: (http: OutboundHttp, uploads: UploadEngine) => new WebFetch(http, uploads),
    },
    SearchProviderRepository,
    SearchProviderService,
    WebPages,
    WebSearch,
  ],
  exports: [WebPages, WebSearch],
})
export class WebModule implements OnApplicationShutdown {
  constructor(
    @Inject(PAGE_HTTP) private readonly http: OutboundHttp,
    names: AuditNames,
  ) {
    names.join('search_provider', SearchProvider, 'name');
  }

  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }
}
