import { Injectable } from '@nestjs/common';
import { Database, withLongStatements } from '../../platform/database/index.js';
import type { VectorEntry, VectorScope } from '../vector-store.js';

export type ScopeCount = VectorScope & { readonly count: number };

/** A table of vectors: keyed by (knowledge_id, tenant_id, fragment_id), with attachment_id and dimension. */
@Injectable()
export abstract class VectorTable {
  protected abstract readonly table: string;

  constructor(protected readonly database: Database) {}

  /** Adds or replaces entries of one dimension, without duplicate fragments. */
  abstract upsert(scope: VectorScope, entries: readonly VectorEntry[]): Promise<void>;

  /** The scopes of the whole installation. */
  abstract scopes(): Promise<ScopeCount[]>;

  async removeFragments(scope: VectorScope, fragmentIds: readonly number[]): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.table} WHERE knowledge_id = $1 AND tenant_id = $2 AND fragment_id = ANY ($3::bigint[])`,
      [scope.knowledgeId, scope.tenantId, fragmentIds],
    );
  }

  async removeAttachment(scope: VectorScope, attachmentId: number): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.table} WHERE attachment_id = $1 AND knowledge_id = $2 AND tenant_id = $3`,
      [attachmentId, scope.knowledgeId, scope.tenantId],
    );
  }

  async removeKnowledge(scope: VectorScope): Promise<void> {
    await withLongStatements(() =>
      this.database.query(`DELETE FROM ${this.table} WHERE knowledge_id = $1 AND tenant_id = $2`, [
        scope.knowledgeId,
        scope.tenantId,
      ]),
    );
  }

  async removeTenant(tenantId: string): Promise<void> {
    await withLongStatements(() =>
      this.database.query(`DELETE FROM ${this.table} WHERE tenant_id = $1`, [tenantId]),
    );
  }

  async count(scope: VectorScope, attachmentId?: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${this.table}
        WHERE knowledge_id = $1 AND tenant_id = $2 AND ($3::bigint IS NULL OR attachment_id = $3)`,
      [scope.knowledgeId, scope.tenantId, attachmentId ?? null],
    );
    return row?.count ?? 0;
  }

  async countOfTenant(tenantId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${this.table} WHERE tenant_id = $1`,
      [tenantId],
    );
    return row?.count ?? 0;
  }

  async fragmentIds(
    scope: VectorScope,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT fragment_id AS id FROM ${this.table}
        WHERE knowledge_id = $1 AND tenant_id = $2 AND fragment_id > $3
        ORDER BY fragment_id LIMIT $4`,
      [scope.knowledgeId, scope.tenantId, after, limit],
    );
    return rows.map(({ id }) => id);
  }
}
