import { Injectable } from '@nestjs/common';
import { Any, IsNull, Raw } from 'typeorm';
import { comparedSubjects, readableDocument, readableDocuments } from '../grant/index.js';
import type { Caller } from '../platform/access/index.js';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { jsonPathOf, readFilterText } from '../metadata/index.js';
import type { AttachListQuery } from './attach.dto.js';
import { Attachment, AttachmentStatus } from './attachment.entity.js';

export type NewAttachment = Pick<
  Attachment,
  'knowledgeId' | 'userId' | 'docId' | 'ossId' | 'fileHash' | 'name' | 'type' | 'byteSize'
> &
  Partial<Pick<Attachment, 'metadata' | 'remark' | 'sourceId' | 'externalId' | 'etag' | 'seenAt'>>;

const LABEL = msg`The document`;
const { pending, parsing, parsed } = AttachmentStatus;

@Injectable()
export class AttachRepository {
  readonly attachments: TenantScoped<Attachment>;

  constructor(private readonly database: Database) {
    this.attachments = new TenantScoped(database, Attachment, LABEL);
  }

  /** Documents of the bases that the caller may read. */
  async page(
    caller: Caller,
    knowledgeIds: readonly number[],
    { docId, name, type, ossId, status, filter: given, ...query }: AttachListQuery,
  ): Promise<Page<Attachment>> {
    const filter = readFilterText(given);
    const where = {
      ...readableDocuments(caller),
      knowledgeId: Any([...knowledgeIds]),
      ...(docId && { docId }),
      ...(name && { name: containing(name) }),
      ...(type && { type: type.toLowerCase() }),
      ...(ossId !== undefined && { ossId }),
      ...(status !== undefined && { status }),
      ...(filter && {
        metadata: Raw((column) => `${column} @@ CAST(:path AS jsonpath)`, {
          path: jsonPathOf(filter),
        }),
      }),
    };
    return this.attachments.page(caller.tenantId, query, where, { id: 'DESC' });
  }

  /** The document, if it is not hidden from the caller; otherwise NotFoundError. `knowledgeId` demands that base. */
  async readable(caller: Caller, id: number, knowledgeId?: number): Promise<Attachment> {
    const attachment = await this.attachments.findOne(caller.tenantId, {
      ...readableDocuments(caller, id),
      ...(knowledgeId !== undefined && { knowledgeId }),
    });
    if (!attachment) throw new NotFoundError(LABEL);
    return attachment;
  }

  /** Every document of the base, or those in the given state. */
  async allOf(tenantId: string, knowledgeId: number, status?: number): Promise<Attachment[]> {
    const where = { knowledgeId, ...(status !== undefined && { status }) };
    return this.attachments.find(tenantId, where, { id: 'ASC' });
  }

  /** The document with the content that a person has added. Those of sources are told apart by their ids there. */
  async byHash(
    tenantId: string,
    knowledgeId: number,
    fileHash: string,
  ): Promise<Attachment | null> {
    return this.attachments.findOne(tenantId, { knowledgeId, fileHash, sourceId: IsNull() });
  }

  /** The knowledge bases of the documents that have the files, by file; without documents that are hidden from the caller. */
  async basesOfFiles(caller: Caller, fileIds: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.database.query<{ fileId: number; knowledgeId: number }>(
      `SELECT oss_id AS "fileId", knowledge_id AS "knowledgeId" FROM attachment
        WHERE tenant_id = $1 AND oss_id = ANY ($2::bigint[])
          AND ${readableDocument('attachment', { tenant: '$1', subjects: '$3' })}`,
      [caller.tenantId, fileIds, comparedSubjects(caller)],
    );
    return new Map(rows.map(({ fileId, knowledgeId }) => [fileId, knowledgeId]));
  }

  /** The existing documents among the ids. */
  async find(tenantId: string, ids: readonly number[]): Promise<Attachment[]> {
    return this.attachments.find(tenantId, { id: Any([...ids]) }, { id: 'ASC' });
  }

  async insert(tenantId: string, values: NewAttachment): Promise<Attachment> {
    const { id } = await this.attachments.insert(tenantId, values);
    return this.attachments.get(tenantId, id);
  }

  /** The documents, locked until the open transaction ends; NotFoundError if one is missing. */
  async lock(tenantId: string, ids: readonly number[]): Promise<Attachment[]> {
    const locked = await this.database.query(
      'SELECT id FROM attachment WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR UPDATE',
      [tenantId, ids],
    );
    if (locked.length !== new Set(ids).size) throw new NotFoundError(LABEL);
    return this.attachments.find(tenantId, { id: Any([...ids]) }, { id: 'ASC' });
  }

  /**
   * Holds every document of the bases against changes until the open transaction ends. Vectors of one can still be added:
   * who adds some holds the base already, for which a deletion waits next.
   */
  async lockAllOf(tenantId: string, knowledgeIds: readonly number[]): Promise<void> {
    await this.database.query(
      `SELECT id FROM attachment WHERE tenant_id = $1 AND knowledge_id = ANY ($2::bigint[])
        ORDER BY id FOR NO KEY UPDATE`,
      [tenantId, knowledgeIds],
    );
  }

  /** Number of documents per base that the caller may read; bases without documents are missing. */
  async counts(caller: Caller, knowledgeIds: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.database.prepared<{ knowledgeId: number; count: number }>(
      `SELECT knowledge_id AS "knowledgeId", count(*) AS count FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = ANY ($2::bigint[])
          AND ${readableDocument('attachment', { tenant: '$1', subjects: '$3' })} GROUP BY knowledge_id`,
      [caller.tenantId, knowledgeIds, comparedSubjects(caller)],
    );
    return new Map(rows.map(({ knowledgeId, count }) => [knowledgeId, count]));
  }

  /** Whether the base has fragments, or a running parsing that will create some. */
  async isIndexed(tenantId: string, knowledgeId: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT id FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = $2
          AND (status IN (${parsing}, ${parsed}) OR fragment_count > 0) LIMIT 1`,
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  /** Number of documents before each of these in the parsing queue, which all tenants of the installation share. */
  async ahead(tenantId: string, ids: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.database.query<{ id: number; ahead: number }>(
      `WITH waiting AS (
         SELECT id, tenant_id, row_number() OVER (ORDER BY due_at, id) - 1 AS ahead
           FROM attachment WHERE parse_requested AND status = ${pending})
       SELECT id, ahead FROM waiting WHERE tenant_id = $1 AND id = ANY ($2::bigint[])`,
      [tenantId, ids],
    );
    return new Map(rows.map(({ id, ahead }) => [id, ahead]));
  }
}
