import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';

@Injectable()
export class TenantRevisionRepository {
  constructor(private readonly database: Database) {}

  async increment(tenantId: string): Promise<void> {
    await this.database.query('UPDATE tenant SET revision = revision + 1 WHERE tenant_id = $1', [
      tenantId,
    ]);
  }

  /** 0 for a tenant that does not exist. */
  async current(tenantId: string): Promise<number> {
    const [row] = await this.database.query<{ revision: number }>(
      'SELECT revision FROM tenant WHERE tenant_id = $1',
      [tenantId],
    );
    return row?.revision ?? 0;
  }
}
