import { Injectable } from '@nestjs/common';
import { Database, SealedColumns, TenantScoped } from '../platform/database/index.js';
import type { SealedColumn } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { SEARCH_ENABLED, SearchProvider } from './search-provider.entity.js';

@Injectable()
export class SearchProviderRepository {
  readonly providers: TenantScoped<SearchProvider>;
  /** The API keys, each bound to its address: a key is never sent to another one. */
  readonly keys: SealedColumn;

  constructor(database: Database, sealed: SealedColumns) {
    this.keys = sealed.add('search_provider', 'api_key', { owner: 'address' });
    this.providers = new TenantScoped(database, SearchProvider, msg`The search provider`);
  }

  /** The enabled providers, in the order in which they are asked. */
  async enabled(tenantId: string): Promise<SearchProvider[]> {
    return this.providers.find(
      tenantId,
      { status: SEARCH_ENABLED },
      { sortOrder: 'ASC', id: 'ASC' },
    );
  }
}
