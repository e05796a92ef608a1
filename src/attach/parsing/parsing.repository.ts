import { Injectable } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import type { Caller } from '../../platform/access/index.js';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { AttachmentStatus } from '../attachment.entity.js';
import type { Attachment } from '../attachment.entity.js';

/** A document and the right to write its parsing, which ends when the row has another token. */
export interface Claim {
  readonly tenantId: string;
  readonly id: number;
  readonly token: string;
}

export type ClaimedAttachment = Pick<
  Attachment,
  | 'knowledgeId'
  | 'docId'
  | 'name'
  | 'byteSize'
  | 'ossId'
  | 'attempts'
  | 'requestedBy'
  | 'requestedHome'
  | 'awaitedSince'
  | 'vectorsOnly'
>;

export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly waitingFor: Message | null;
  readonly ocrDone: number;
  readonly ocrTotal: number | null;
  readonly contextDone: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Answer of a model and its cost. */
export interface StoredAnswer {
  readonly text: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** State in which a document is released. */
export interface Release {
  readonly waitingFor: Message;
  readonly delaySeconds: number;
  /** Whether the attempt counts towards the limit of the document. */
  readonly counted: boolean;
  /** Whether its source or a service is unavailable; the row records since when. */
  readonly away?: boolean;
}

/** Document with a requested parsing. */
export type WaitingDocument = Pick<Attachment, 'id' | 'tenantId' | 'byteSize'>;

export const WAITING = 'attachment.id, tenant_id AS "tenantId", byte_size AS "byteSize"';

/** Duration of a claim without renewal; a process that died loses its claim after this time. */
export const LEASE_SECONDS = 30;

/** Tries of one request for parsing, the first included. */
export const ATTEMPTS = 3;

const { pending, parsing, parsed, failed } = AttachmentStatus;
const LEASE = `now() + interval '${LEASE_SECONDS} seconds'`;
const ENDED =
  'parse_requested = false, lease_token = NULL, lease_until = NULL, waiting_for = NULL, awaited_since = NULL';
const MINE = 'tenant_id = $1 AND id = $2 AND lease_token = $3';

/** The state of parsing as the rows hold it. Every change of a running one asks for its token. */
@Injectable()
export class ParsingRepository {
  constructor(private readonly database: Database) {}

  /**
   * Asks for parsing; documents that are being parsed stay as they are. Answers those that were marked. Takes the rows
   * in the order of their ids, as who deletes them does, and looks at their state once more after having waited for them.
   */
  async request(caller: Caller, ids: readonly number[]): Promise<WaitingDocument[]> {
    return this.database.query<WaitingDocument>(
      `UPDATE attachment
          SET parse_requested = true, vectors_only = false, status = ${pending}, failure = NULL,
              waiting_for = NULL, awaited_since = NULL, attempts = 0, progress_done = 0, progress_total = NULL, ocr_done = 0,
              ocr_total = NULL, context_done = 0, input_tokens = 0, output_tokens = 0, requested_by = $3,
              requested_home = $4, requested_at = now(), due_at = now(), update_time = now()
         FROM (SELECT id FROM attachment
                WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) AND status <> ${parsing}
                ORDER BY id FOR NO KEY UPDATE) due
        WHERE attachment.tenant_id = $1 AND attachment.id = due.id AND attachment.status <> ${parsing}
        RETURNING ${WAITING}`,
      [caller.tenantId, ids, caller.userId, caller.homeTenantId],
    );
  }

  /** Ends a requested parsing, running or not, as failed with the reason; false if none was requested. */
  async abandon(tenantId: string, id: number, reason: Message): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE attachment SET status = ${failed}, failure = $3, ${ENDED}, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND parse_requested RETURNING id`,
      [tenantId, id, reason],
    );
    return rows.length > 0;
  }

  /** Claims a document that is due and not held; undefined when there is nothing to claim. */
  async claim({ tenantId, id, token }: Claim): Promise<ClaimedAttachment | undefined> {
    const [row] = await this.database.query<ClaimedAttachment>(
      `UPDATE attachment
          SET status = ${parsing}, lease_token = $3, lease_until = ${LEASE}, attempts = attempts + 1,
              failure = NULL, waiting_for = NULL, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND parse_requested AND due_at <= now()
          AND (lease_token IS NULL OR lease_until < now()) AND attempts < ${ATTEMPTS}
        RETURNING knowledge_id AS "knowledgeId", doc_id AS "docId", name, byte_size AS "byteSize",
                  oss_id AS "ossId", attempts, requested_by AS "requestedBy", requested_home AS "requestedHome",
                  awaited_since AS "awaitedSince", vectors_only AS "vectorsOnly"`,
      [tenantId, id, token],
    );
    return row;
  }

  /** Renews the lease and stores the progress; false when the lease is lost. */
  async renew({ tenantId, id, token }: Claim, progress: Progress): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE attachment
          SET lease_until = ${LEASE}, progress_done = $4, progress_total = $5, waiting_for = $6,
              ocr_done = $7, ocr_total = $8, input_tokens = $9, output_tokens = $10,
              context_done = $11
        WHERE ${MINE} RETURNING id`,
      [
        tenantId,
        id,
        token,
        progress.done,
        progress.total,
        progress.waitingFor,
        progress.ocrDone,
        progress.ocrTotal,
        progress.inputTokens,
        progress.outputTokens,
        progress.contextDone,
      ],
    );
    return rows.length > 0;
  }

  /** Marks the document as parsed; false when the lease is lost. Call it first in the transaction that stores the fragments. */
  async finish(
    { tenantId, id, token }: Claim,
    result: { readonly fragments: number; readonly encoding: string | undefined },
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE attachment
          SET status = ${parsed}, failure = NULL, ${ENDED}, vectors_only = false, fragment_count = $4,
              progress_done = $4, progress_total = $4, encoding = $5, parsed_at = now(), update_time = now()
        WHERE ${MINE} RETURNING id`,
      [tenantId, id, token, result.fragments, result.encoding ?? null],
    );
    return rows.length > 0;
  }

  /** Marks the document as parsed, whose vectors are there again; false when the lease is lost. */
  async finishVectors({ tenantId, id, token }: Claim): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE attachment
          SET status = ${parsed}, failure = NULL, ${ENDED}, vectors_only = false,
              progress_done = coalesce(progress_total, progress_done), update_time = now()
        WHERE ${MINE} RETURNING id`,
      [tenantId, id, token],
    );
    return rows.length > 0;
  }

  async exists({ tenantId, id }: Pick<Claim, 'tenantId' | 'id'>): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT id FROM attachment WHERE tenant_id = $1 AND id = $2',
      [tenantId, id],
    );
    return rows.length > 0;
  }

  async fail({ tenantId, id, token }: Claim, reason: Message): Promise<void> {
    await this.database.query(
      `UPDATE attachment SET status = ${failed}, failure = $4, ${ENDED}, update_time = now()
        WHERE ${MINE} RETURNING id`,
      [tenantId, id, token, reason],
    );
  }

  /** Releases the document, to be claimed again after the delay. An attempt that was not the document's fault is not counted. */
  async release({ tenantId, id, token }: Claim, how: Release): Promise<void> {
    await this.database.query(
      `UPDATE attachment
          SET status = ${pending}, lease_token = NULL, lease_until = NULL, waiting_for = $4,
              due_at = now() + make_interval(secs => $5), attempts = attempts - $6::integer,
              awaited_since = CASE WHEN $7 THEN coalesce(awaited_since, now()) ELSE awaited_since END, update_time = now()
        WHERE ${MINE} RETURNING id`,
      [
        tenantId,
        id,
        token,
        how.waitingFor,
        how.delaySeconds,
        how.counted ? 0 : 1,
        how.away === true,
      ],
    );
  }

  /** The due documents of all tenants that are not held, the longest waiting first. */
  async due(limit: number): Promise<WaitingDocument[]> {
    return acrossTenants('sweep of waiting documents', () =>
      this.database.query<WaitingDocument>(
        `SELECT id, tenant_id AS "tenantId", byte_size AS "byteSize" FROM attachment
        WHERE parse_requested AND due_at <= now() AND attempts < ${ATTEMPTS}
          AND (lease_token IS NULL OR lease_until < now())
        ORDER BY due_at, id LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Ends documents of any tenant whose last attempt died with its process; locked rows wait for the next sweep. */
  async failExhausted(reason: Message): Promise<number> {
    const rows = await acrossTenants('sweep of exhausted documents', () =>
      this.database.query(
        `UPDATE attachment SET status = 3, failure = $1, parse_requested = false, lease_token = NULL,
              lease_until = NULL, waiting_for = NULL, update_time = now()
         FROM (SELECT id FROM attachment
                WHERE parse_requested AND attempts >= ${ATTEMPTS} AND (lease_token IS NULL OR lease_until < now())
                ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) due
        WHERE attachment.id = due.id
        RETURNING attachment.id`,
        [reason],
      ),
    );
    return rows.length;
  }

  /** Releases all leases, at the start of the only process of a store: none can belong to a live worker. */
  async expireAllLeases(): Promise<void> {
    await acrossTenants('expiry of leases at the start', () =>
      this.database.query(
        `UPDATE attachment SET lease_until = now() - interval '1 second'
        WHERE parse_requested AND lease_token IS NOT NULL RETURNING id`,
      ),
    );
  }

  /** Number of documents of all tenants that wait, and the seconds that the oldest has waited. */
  async waiting(): Promise<{ readonly count: number; readonly oldestSeconds: number }> {
    const [row] = await acrossTenants('metric of waiting documents', () =>
      this.database.query<{ count: number; oldestSeconds: number | null }>(
        `SELECT count(*) AS count, extract(epoch FROM now() - min(requested_at))::float8 AS "oldestSeconds"
         FROM attachment WHERE parse_requested AND status = ${pending}`,
      ),
    );
    return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
  }

  /** Documents of all tenants whose worker has not renewed its lease. */
  async expiredLeases(): Promise<number> {
    const [row] = await acrossTenants('metric of leases', () =>
      this.database.query<{ count: number }>(
        'SELECT count(*) AS count FROM attachment WHERE parse_requested AND lease_until < now()',
      ),
    );
    return row?.count ?? 0;
  }

  /** The vectors that an earlier attempt has stored, by the digest of their batch. */
  async embeddedBatches(tenantId: string, attachmentId: number): Promise<Map<string, Buffer>> {
    const rows = await this.database.query<{ digest: string; vectors: Buffer }>(
      'SELECT digest, vectors FROM embedded_batch WHERE tenant_id = $1 AND attachment_id = $2',
      [tenantId, attachmentId],
    );
    return new Map(rows.map(({ digest, vectors }) => [digest, vectors]));
  }

  async keepBatch(
    { tenantId, id }: Claim,
    batch: { readonly digest: string; readonly vectors: Buffer },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO embedded_batch (tenant_id, attachment_id, digest, vectors) VALUES ($1, $2, $3, $4)
       ON CONFLICT (attachment_id, digest) DO NOTHING`,
      [tenantId, id, batch.digest, batch.vectors],
    );
  }

  /** Model answers of earlier attempts, by the digest of the question. */
  async modelAnswers({ tenantId, id }: Claim): Promise<Map<string, StoredAnswer>> {
    const rows = await this.database.query<StoredAnswer & { digest: string }>(
      `SELECT digest, text, input_tokens AS "inputTokens", output_tokens AS "outputTokens"
         FROM model_answer WHERE tenant_id = $1 AND attachment_id = $2`,
      [tenantId, id],
    );
    return new Map(rows.map(({ digest, ...answer }) => [digest, answer]));
  }

  async storeAnswer(
    { tenantId, id }: Claim,
    { digest, text, inputTokens, outputTokens }: StoredAnswer & { readonly digest: string },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO model_answer (tenant_id, attachment_id, digest, text, input_tokens, output_tokens)
       VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (attachment_id, digest) DO NOTHING`,
      [tenantId, id, digest, text, inputTokens, outputTokens],
    );
  }

  /** Forgets what was kept for another attempt. */
  async dropKept(tenantId: string, attachmentId: number): Promise<void> {
    await this.database.query(
      'DELETE FROM embedded_batch WHERE tenant_id = $1 AND attachment_id = $2',
      [tenantId, attachmentId],
    );
    await this.database.query(
      'DELETE FROM model_answer WHERE tenant_id = $1 AND attachment_id = $2',
      [tenantId, attachmentId],
    );
  }
}
