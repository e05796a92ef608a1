import { Injectable, Logger } from '@nestjs/common';
import { TenantLifecycle } from '../platform/access/index.js';
import { Database } from '../platform/database/index.js';
import { VectorStores } from './vector-stores.js';

/** How long the deletion of a tenant waits for one store. */
const LIMIT_MS = 60_000;

/** Removes the vectors of a deleted tenant, also from stores without foreign keys. */
@Injectable()
export class VectorErasure {
  private readonly logger = new Logger(VectorErasure.name);

  constructor(
    private readonly stores: VectorStores,
    private readonly database: Database,
    lifecycle: TenantLifecycle,
  ) {
    lifecycle.join({
      deleting: (tenantId) => this.database.afterCommit(() => this.erase(tenantId)),
    });
  }

  private async erase(tenantId: string): Promise<void> {
    for (const store of this.stores.all()) {
      await store
        .removeTenant(tenantId, AbortSignal.timeout(LIMIT_MS))
        .catch((error: unknown) => this.logFailure(store.code, tenantId, error));
    }
  }

  private logFailure(store: string, tenantId: string, error: unknown): void {
    this.logger.error({
      msg: 'Failed to remove the vectors of a deleted tenant; the next reconciliation retries',
      store,
      tenantId,
      err: error,
    });
  }
}
