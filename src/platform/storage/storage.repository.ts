import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import { msg } from '../message/index.js';
import {
  acrossTenants,
  containing,
  createdWithin,
  Database,
  startingWith,
  TenantScoped,
} from '../database/index.js';
import type { Page } from '../http/index.js';
import { notOnHold } from '../retention/index.js';
import type { DueRecords } from '../retention/index.js';
import type { StoredFileListQuery } from './storage.dto.js';
import { StoredFile } from './storage.entity.js';

export type RecordedFile = Pick<StoredFile, 'id' | 'storageKey' | 'byteSize' | 'sha256'>;

@Injectable()
export class StorageRepository {
  readonly files: TenantScoped<StoredFile>;

  constructor(private readonly database: Database) {
    this.files = new TenantScoped(database, StoredFile, msg`The file`);
  }

  /** The condition of files that are not part of another record. */
  page(tenantId: string, query: StoredFileListQuery): Promise<Page<StoredFile>> {
    const name = query.originalName ?? query.fileName;
    const where = {
      belongsTo: IsNull(),
      ...(name && { originalName: containing(name) }),
      ...(query.fileSuffix && { fileSuffix: query.fileSuffix }),
      ...(query.mimeType && { mimeType: startingWith(query.mimeType) }),
      ...(query.service && { service: query.service }),
      ...createdWithin(query.params),
    };
    return this.files.page(tenantId, query, where, { id: 'DESC' });
  }

  find(tenantId: string, ids: readonly number[]): Promise<StoredFile[]> {
    return this.files.find(tenantId, { id: In([...ids]) });
  }

  /** The files that the user has uploaded and that are independent or part of a record of the kind. */
  ofUploader(
    { tenantId, userId }: { readonly tenantId: string; readonly userId: number },
    ids: readonly number[],
    kind: string,
  ): Promise<StoredFile[]> {
    const where = { id: In([...ids]), userId };
    return this.files.find(tenantId, [
      { ...where, belongsTo: IsNull() },
      { ...where, belongsTo: kind },
    ]);
  }

  /** Marks the files as part of records of the kind, and locks them. Answers how many there are. */
  async claim(tenantId: string, ids: readonly number[], kind: string): Promise<number> {
    const rows = await this.database.query(
      `UPDATE stored_file SET belongs_to = $3
        WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) AND coalesce(belongs_to, $3) = $3
        RETURNING id`,
      [tenantId, ids, kind],
    );
    return rows.length;
  }

  /** Locks the files until the open transaction ends. */
  async lock(tenantId: string, ids: readonly number[]): Promise<void> {
    await this.database.query(
      'SELECT id FROM stored_file WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR UPDATE',
      [tenantId, ids],
    );
  }

  /** Independent files that were uploaded before the days. */
  async due({ tenantId, userId, days }: DueRecords, limit: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT file.id FROM stored_file file
        WHERE file.tenant_id = $1 AND ($2::bigint IS NULL OR file.user_id = $2) AND file.belongs_to IS NULL
          AND file.create_time < now() - make_interval(days => $3) AND ${notOnHold('file')}
        ORDER BY file.id LIMIT $4`,
      [tenantId, userId, days, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Deletes the records of the users' files of the kind in every tenant; answers the keys of their contents. */
  async removeOfUsers(userIds: readonly number[], kind: string): Promise<string[]> {
    const rows = await acrossTenants('files of deleted users', () =>
      this.database.query<{ storage_key: string }>(
        'DELETE FROM stored_file WHERE user_id = ANY ($1::bigint[]) AND belongs_to = $2 RETURNING storage_key',
        [userIds, kind],
      ),
    );
    return rows.map((row) => row.storage_key);
  }

  /** Files of every tenant after the id, by id. */
  async after(id: number, limit: number): Promise<RecordedFile[]> {
    return acrossTenants('move of stored files', () =>
      this.database.query<RecordedFile>(
        `SELECT id, storage_key AS "storageKey", byte_size AS "byteSize", sha256 FROM stored_file
          WHERE id > $1 ORDER BY id LIMIT $2`,
        [id, limit],
      ),
    );
  }

  /** Notes where the contents are. */
  async setService(ids: readonly number[], service: string): Promise<void> {
    await acrossTenants('move of stored files', () =>
      this.database.query('UPDATE stored_file SET service = $2 WHERE id = ANY ($1::bigint[])', [
        ids,
        service,
      ]),
    );
  }

  async keysOf(tenantId: string): Promise<string[]> {
    const rows = await this.database.query<{ storage_key: string }>(
      'SELECT storage_key FROM stored_file WHERE tenant_id = $1',
      [tenantId],
    );
    return rows.map((row) => row.storage_key);
  }

  /** Names of the tenant's users, by id; a user of another tenant (a super administrator) has no name here. */
  async userNames(tenantId: string, userIds: readonly number[]): Promise<Map<number, string>> {
    const rows = await this.database.query<{ id: number; user_name: string }>(
      'SELECT id, user_name FROM user_account WHERE tenant_id = $1 AND id = ANY($2)',
      [tenantId, userIds],
    );
    return new Map(rows.map((row) => [row.id, row.user_name]));
  }

  /** The keys for which any tenant has a record. */
  async recordedKeys(keys: readonly string[]): Promise<Set<string>> {
    const rows = await acrossTenants('sweep of stored files', () =>
      this.database.query<{ storage_key: string }>(
        'SELECT storage_key FROM stored_file WHERE storage_key = ANY($1)',
        [keys],
      ),
    );
    return new Set(rows.map((row) => row.storage_key));
  }

  /** Identifies the database of this installation, also after a move: the creation time of its first tenant. */
  async installation(): Promise<string> {
    const [row] = await this.database.query<{ made: string }>(
      "SELECT extract(epoch FROM create_time)::text AS made FROM tenant WHERE tenant_id = '000000'",
    );
    if (!row) throw new Error('Tenant 000000 does not exist yet.');
    return row.made;
  }
}
