import { Injectable } from '@nestjs/common';
import { Database, TenantScoped } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { OAuthConnection } from './oauth.entity.js';

@Injectable()
export class OAuthRepository {
  readonly connections: TenantScoped<OAuthConnection>;

  constructor(private readonly database: Database) {
    this.connections = new TenantScoped(database, OAuthConnection, msg`The connection`);
  }

  /** Does the work with the connection of the key, which no other request reads meanwhile. undefined without one. */
  async exclusively<T>(
    tenantId: string,
    apiKeyId: number,
    work: (connection: OAuthConnection) => Promise<T>,
  ): Promise<T | undefined> {
    return this.database.transactionIn(tenantId, async () => {
      const connection = await this.connections.rows.findOne({
        where: { tenantId, apiKeyId },
        lock: { mode: 'pessimistic_write' },
      });
      return connection ? work(connection) : undefined;
    });
  }

  transaction<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    return this.database.transactionIn(tenantId, work);
  }
}
