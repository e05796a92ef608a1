import { Injectable } from '@nestjs/common';
import { In, LessThan, MoreThan } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import type { Caller } from '../../platform/access/index.js';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { notDue, notOnHold } from '../../platform/retention/index.js';
import type { DueRecords } from '../../platform/retention/index.js';
import { ApiFile } from './api-file.entity.js';

export type FileOwner = Pick<Caller, 'tenantId' | 'userId' | 'apiKey'>;

export type NewApiFile = Pick<
  ApiFile,
  'id' | 'fileId' | 'purpose' | 'fileName' | 'mimeType' | 'byteSize'
> & {
  /** Null keeps the file until it is deleted. */
  readonly keptSeconds: number | null;
};

/** A page of a user's files, newest first unless `order` says otherwise. */
export interface FilePage {
  readonly order?: 'asc' | 'desc';
  /** The number of the last file of the page before. */
  readonly after?: number | undefined;
  readonly purpose?: string | undefined;
  readonly limit: number;
}

interface UsedQuota {
  readonly userFiles: number;
  readonly userBytes: number;
  readonly tenantBytes: number;
}

/** Statements on single files are scoped to one user of one tenant. */
@Injectable()
export class ApiFileRepository {
  constructor(private readonly database: Database) {}

  /** Storage used by the user and the tenant. Blocks other uploads of the tenant until the open transaction ends. */
  async used({ tenantId, userId }: FileOwner): Promise<UsedQuota> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
      `api files ${tenantId}`,
    ]);
    const [used] = await this.database.query<UsedQuota>(
      `SELECT (count(*) FILTER (WHERE user_id = $2))::integer AS "userFiles",
              coalesce(sum(byte_size) FILTER (WHERE user_id = $2), 0)::float8 AS "userBytes",
              coalesce(sum(byte_size), 0)::float8 AS "tenantBytes"
         FROM api_file WHERE tenant_id = $1`,
      [tenantId, userId],
    );
    return used ?? { userFiles: 0, userBytes: 0, tenantBytes: 0 };
  }

  async insert({ tenantId, userId, apiKey }: FileOwner, file: NewApiFile): Promise<void> {
    await this.database.query(
      `INSERT INTO api_file (tenant_id, user_id, api_key_id, id, file_id, purpose, file_name, mime_type, byte_size, expire_time)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10::double precision))`,
      [
        ...[tenantId, userId, apiKey?.id ?? null, file.id, file.fileId, file.purpose],
        ...[file.fileName, file.mimeType, file.byteSize, file.keptSeconds],
      ],
    );
  }

  find({ tenantId, userId }: FileOwner, id: string): Promise<ApiFile | null> {
    return this.database.repository(ApiFile).findOneBy({ tenantId, userId, id });
  }

  async page(
    { tenantId, userId }: FileOwner,
    { order = 'desc', after, purpose, limit }: FilePage,
  ): Promise<ApiFile[]> {
    const beyond = order === 'asc' ? MoreThan : LessThan;
    const where: FindOptionsWhere<ApiFile> = {
      tenantId,
      userId,
      createTime: notDue('files', { tenantId, userId }),
      ...(purpose !== undefined && { purpose }),
      ...(after !== undefined && { number: beyond(after) }),
    };
    return this.database.repository(ApiFile).find({ where, order: { number: order }, take: limit });
  }

  /** The stored files among these that belong to the user. */
  async ofStored(
    { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
    fileIds: readonly number[],
  ): Promise<Set<number>> {
    const rows = await this.database.repository(ApiFile).find({
      select: { fileId: true },
      where: { tenantId, userId, fileId: In([...fileIds]) },
    });
    return new Set(rows.map(({ fileId }) => fileId));
  }

  /** Files that were made before the days, except the input of a batch that runs. */
  async due(
    { tenantId, userId, days }: DueRecords,
    limit: number,
  ): Promise<Pick<ApiFile, 'tenantId' | 'fileId'>[]> {
    return this.database.query(
      `SELECT file.tenant_id AS "tenantId", file.file_id AS "fileId" FROM api_file file
        WHERE file.tenant_id = $1 AND ($2::bigint IS NULL OR file.user_id = $2)
          AND file.create_time < now() - make_interval(days => $3) AND ${notOnHold('file')}
          AND NOT EXISTS (SELECT FROM api_batch batch
                WHERE batch.tenant_id = $1 AND batch.input_file = file.id AND batch.end_time IS NULL)
        ORDER BY file.number LIMIT $4`,
      [tenantId, userId, days, limit],
    );
  }

  /** Up to `limit` expired files of all tenants. */
  async expired(limit: number): Promise<Pick<ApiFile, 'tenantId' | 'fileId'>[]> {
    return acrossTenants('expired files of the compatible interfaces', () =>
      this.database.query(
        `SELECT tenant_id AS "tenantId", file_id AS "fileId"
           FROM api_file WHERE expire_time < now() AND ${notOnHold('api_file')} ORDER BY expire_time LIMIT $1`,
        [limit],
      ),
    );
  }
}
