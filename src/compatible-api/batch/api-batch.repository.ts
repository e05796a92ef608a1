import { Injectable } from '@nestjs/common';
import { LessThan, MoreThan } from 'typeorm';
import type { FindOperator } from 'typeorm';
import type { Caller } from '../../platform/access/index.js';
import { acrossTenants, Database } from '../../platform/database/index.js';
import type { Swept } from '../../platform/queue/index.js';
import { notOnHold } from '../../platform/retention/index.js';
import type { DueRecords } from '../../platform/retention/index.js';
import { ApiBatch } from './api-batch.entity.js';
import type {
  ApiBatchLine,
  BatchProblem,
  BatchProtocol,
  BatchStatus,
  BatchUsage,
  EndedLineStatus,
} from './api-batch.entity.js';

/** Lease of a batch or a line since the last renewal. */
const LEASE_SECONDS = 60;

/** Maximum attempts of a line after service failures or stopped processes. */
export const MAX_ATTEMPTS = 5;

/** Rows changed by one sweep statement. */
const SWEPT_AT_ONCE = 1_000;

export type NewBatch = Pick<
  ApiBatch,
  'id' | 'protocol' | 'endpoint' | 'headers' | 'metadata' | 'inputFile' | 'outputSeconds'
> & {
  readonly status: BatchStatus;
  readonly windowSeconds: number;
};

export type NewLine = Pick<ApiBatchLine, 'position' | 'customId'> & { readonly request: string };

/** A batch that this process has leased to read or end it. */
export type LeasedBatch = ApiBatch & { readonly leaseToken: string };

/** A line that this process has leased to answer it. */
export interface LeasedLine extends Pick<
  ApiBatchLine,
  'batchNumber' | 'position' | 'tenantId' | 'customId' | 'attempts'
> {
  readonly request: string;
  readonly token: string;
  readonly batch: Pick<
    ApiBatch,
    'id' | 'protocol' | 'endpoint' | 'headers' | 'userId' | 'homeTenantId' | 'apiKeyId'
  >;
}

export interface LineEnd {
  readonly status: EndedLineStatus;
  readonly statusCode?: number;
  readonly requestId?: string;
  readonly response?: string;
}

export type EndedLine = Pick<
  ApiBatchLine,
  'position' | 'customId' | 'statusCode' | 'requestId' | 'response'
> & { readonly status: EndedLineStatus };

/** Next attempt of a line, and whether this one counts towards MAX_ATTEMPTS. */
export interface PutBack {
  readonly seconds: number;
  readonly isCounted: boolean;
}

export interface BatchEnd {
  readonly status: BatchStatus;
  readonly outputFile: string | null;
  readonly errorFile: string | null;
  readonly usage: BatchUsage | null;
}

/** A page of a user's batches, newest first; `before` selects newer ones. */
export interface BatchPage {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

interface EndedLinesPage {
  readonly statuses: readonly EndedLineStatus[];
  /** Position of the last line of the previous page. */
  readonly after: number;
  readonly limit: number;
}

type Owner = Pick<Caller, 'tenantId' | 'userId'>;
export type BatchKey = Pick<ApiBatch, 'tenantId' | 'number'>;

const COUNTED = (status: string): string => `
  succeeded_count = b.succeeded_count + CASE ${status} WHEN 'succeeded' THEN ended.count ELSE 0 END,
  errored_count = b.errored_count + CASE ${status} WHEN 'errored' THEN ended.count ELSE 0 END,
  canceled_count = b.canceled_count + CASE ${status} WHEN 'canceled' THEN ended.count ELSE 0 END,
  expired_count = b.expired_count + CASE ${status} WHEN 'expired' THEN ended.count ELSE 0 END`;

const HAS_OPEN_LINES = `EXISTS (SELECT FROM api_batch_line l
   WHERE l.batch_number = b.number AND l.status IN ('waiting', 'running'))`;

/** Round robin over batches, line by line. Rows locked by another process are skipped. */
const CLAIM_LINE = `
  WITH chosen AS (
    SELECT b.number FROM api_batch b
     WHERE b.end_time IS NULL AND b.status = 'in_progress' AND b.due_time <= now() AND b.expire_time > now()
       AND b.user_id <> ALL ($2::bigint[])
       AND EXISTS (SELECT FROM api_batch_line l WHERE l.batch_number = b.number AND l.status = 'waiting')
     ORDER BY b.served_time LIMIT 1 FOR UPDATE SKIP LOCKED),
  first AS (
    SELECT l.batch_number, l.position FROM api_batch_line l JOIN chosen ON chosen.number = l.batch_number
     WHERE l.status = 'waiting' ORDER BY l.position LIMIT 1 FOR UPDATE OF l SKIP LOCKED),
  served AS (
    UPDATE api_batch b SET served_time = clock_timestamp() FROM chosen WHERE b.number = chosen.number)
  UPDATE api_batch_line l
     SET status = 'running', attempts = l.attempts + 1, lease_token = $1::uuid,
         lease_until = now() + make_interval(secs => $3)
    FROM first, api_batch b
   WHERE l.batch_number = first.batch_number AND l.position = first.position AND b.number = first.batch_number
   RETURNING l.batch_number AS "batchNumber", l.position, l.tenant_id AS "tenantId", l.custom_id AS "customId",
             l.attempts, l.request, l.lease_token AS token,
             json_build_object('id', b.id, 'protocol', b.protocol, 'endpoint', b.endpoint, 'headers', b.headers,
               'userId', b.user_id, 'homeTenantId', b.home_tenant_id, 'apiKeyId', b.api_key_id) AS batch`;

/** Lines that were put back or taken over meanwhile are not changed. */
const END_LINE = `
  WITH ended AS (
    UPDATE api_batch_line
       SET status = $5::text, status_code = $6, request_id = $7, response = $8, request = NULL, lease_token = NULL, lease_until = NULL
     WHERE tenant_id = $1 AND batch_number = $2 AND position = $3 AND lease_token = $4::uuid AND status = 'running'
    RETURNING batch_number, 1 AS count)
  UPDATE api_batch b SET ${COUNTED('$5::text')} FROM ended
   WHERE b.tenant_id = $1 AND b.number = ended.batch_number RETURNING b.number`;

/** Ends the lines of one batch that have not begun, and clears its delay. */
const END_WAITING = `
  WITH lines AS (
    UPDATE api_batch_line SET status = $3::text, status_code = $4, response = $5, request = NULL
     WHERE tenant_id = $1 AND batch_number = $2 AND status = 'waiting' RETURNING batch_number),
  ended AS (SELECT batch_number, count(*)::integer AS count FROM lines GROUP BY 1)
  UPDATE api_batch b SET due_time = now(), ${COUNTED('$3::text')} FROM ended WHERE b.tenant_id = $1 AND b.number = ended.batch_number`;

/** Lines of cancelled or expired batches. */
const END_OVERDUE = `
  WITH lines AS (
    UPDATE api_batch_line l
       SET status = CASE b.status WHEN 'cancelling' THEN 'canceled' ELSE 'expired' END, request = NULL
      FROM api_batch b
     WHERE b.number = l.batch_number AND l.status = 'waiting' AND b.end_time IS NULL
       AND (b.status = 'cancelling' OR (b.status = 'in_progress' AND b.expire_time <= now()))
    RETURNING l.batch_number, l.status),
  ended AS (SELECT batch_number, status, count(*)::integer AS count FROM lines GROUP BY 1, 2)
  UPDATE api_batch b SET due_time = now(), ${COUNTED('ended.status')} FROM ended WHERE b.number = ended.batch_number`;

/** Lines with an expired lease. Those with too many attempts fail. */
const RECOVER = `
  WITH lines AS (
    UPDATE api_batch_line
       SET status = CASE WHEN attempts < $1 THEN 'waiting' ELSE 'errored' END,
           request = CASE WHEN attempts < $1 THEN request END,
           status_code = CASE WHEN attempts < $1 THEN NULL ELSE 500 END,
           lease_token = NULL, lease_until = NULL
     WHERE (batch_number, position) IN (
       SELECT batch_number, position FROM api_batch_line
        WHERE status = 'running' AND lease_until < now() LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING batch_number, status),
  ended AS (
    SELECT batch_number, count(*)::integer AS count FROM lines WHERE status = 'errored' GROUP BY 1)
  UPDATE api_batch b SET ${COUNTED("'errored'")} FROM ended WHERE b.number = ended.batch_number`;

/** Statements on single batches are scoped to one user of one tenant; the worker uses the others. */
@Injectable()
export class ApiBatchRepository {
  constructor(private readonly database: Database) {}

  async insert(
    { tenantId, userId, homeTenantId, apiKey }: Owner & Pick<Caller, 'homeTenantId' | 'apiKey'>,
    batch: NewBatch,
  ): Promise<number> {
    const [row] = await this.database.query<{ number: number }>(
      `INSERT INTO api_batch (tenant_id, user_id, home_tenant_id, api_key_id, id, protocol, endpoint, headers, metadata,
                              input_file, output_seconds, status, begin_time, expire_time)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9::json, $10, $11, $12::text,
               CASE WHEN $12::text = 'in_progress' THEN now() END, now() + make_interval(secs => $13))
       RETURNING number`,
      [
        ...[tenantId, userId, homeTenantId, apiKey?.id ?? null, batch.id, batch.protocol],
        ...[batch.endpoint, JSON.stringify(batch.headers)],
        batch.metadata && JSON.stringify(batch.metadata),
        ...[batch.inputFile, batch.outputSeconds, batch.status, batch.windowSeconds],
      ],
    );
    if (!row) throw new Error('The batch was not inserted.');
    return row.number;
  }

  /** Adds lines. Existing ones are not changed. */
  async addLines({ tenantId, number }: BatchKey, lines: readonly NewLine[]): Promise<void> {
    await this.database.query(
      `WITH added AS (
         INSERT INTO api_batch_line (tenant_id, batch_number, position, custom_id, request, status)
         SELECT $1, $2, one.position, one.custom_id, one.request, 'waiting'
           FROM unnest($3::integer[], $4::text[], $5::text[]) AS one (position, custom_id, request)
         ON CONFLICT (batch_number, position) DO NOTHING RETURNING position)
       UPDATE api_batch SET total_count = total_count + (SELECT count(*) FROM added)
        WHERE tenant_id = $1 AND number = $2`,
      [
        ...[tenantId, number],
        ...[
          lines.map(({ position }) => position),
          lines.map(({ customId }) => customId),
          lines.map(({ request }) => request),
        ],
      ],
    );
  }

  find({ tenantId, userId }: Owner, protocol: BatchProtocol, id: string): Promise<ApiBatch | null> {
    return this.database.repository(ApiBatch).findOneBy({ tenantId, userId, protocol, id });
  }

  async page(
    { tenantId, userId }: Owner,
    protocol: BatchProtocol,
    { after, before, limit }: BatchPage,
  ): Promise<ApiBatch[]> {
    let number: FindOperator<number> | undefined;
    if (before !== undefined) number = MoreThan(before);
    else if (after !== undefined) number = LessThan(after);
    const rows = await this.database.repository(ApiBatch).find({
      where: { tenantId, userId, protocol, ...(number && { number }) },
      order: { number: before === undefined ? 'DESC' : 'ASC' },
      take: limit,
    });
    return before === undefined ? rows : rows.reverse();
  }

  /** Number of the user's batches that have not ended. */
  async countOpen({ tenantId, userId }: Owner): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM api_batch
        WHERE tenant_id = $1 AND user_id = $2 AND end_time IS NULL`,
      [tenantId, userId],
    );
    return row?.count ?? 0;
  }

  /** Cancels a batch that runs: lines that have not begun end at once. */
  async cancel({ tenantId, number }: BatchKey): Promise<void> {
    await this.database.transaction(async () => {
      const rows = await this.database.query(
        `UPDATE api_batch SET status = 'cancelling', cancel_time = now()
          WHERE tenant_id = $1 AND number = $2 AND status IN ('validating', 'in_progress') RETURNING number`,
        [tenantId, number],
      );
      if (rows.length > 0) await this.endWaiting({ tenantId, number }, { status: 'canceled' });
    });
  }

  async remove({ tenantId, number }: BatchKey): Promise<void> {
    await this.database.repository(ApiBatch).delete({ tenantId, number });
  }

  /** Claims a batch whose file is unread. */
  claimInput(token: string): Promise<BatchKey | undefined> {
    return this.claim(token, `b.status = 'validating'`);
  }

  /** Claims a batch whose lines have all ended, and marks it as finalizing unless it was cancelled. */
  claimEnd(token: string): Promise<BatchKey | undefined> {
    return this.claim(
      token,
      `b.status IN ('in_progress', 'finalizing', 'cancelling') AND NOT ${HAS_OPEN_LINES}`,
      `, status = CASE status WHEN 'in_progress' THEN 'finalizing' ELSE status END,
         finalize_time = coalesce(finalize_time, now())`,
    );
  }

  private async claim(
    token: string,
    condition: string,
    changes = '',
  ): Promise<BatchKey | undefined> {
    const [row] = await acrossTenants('claim of a batch', () =>
      this.database.query<BatchKey>(
        `UPDATE api_batch SET lease_token = $1::uuid, lease_until = now() + make_interval(secs => $2)${changes}
          WHERE number = (
            SELECT b.number FROM api_batch b
             WHERE b.end_time IS NULL AND b.due_time <= now() AND (b.lease_until IS NULL OR b.lease_until < now())
               AND ${condition}
             ORDER BY b.number LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING tenant_id AS "tenantId", number`,
        [token, LEASE_SECONDS],
      ),
    );
    return row;
  }

  /** The batch, if the token still has its lease. */
  async claimed({ tenantId, number }: BatchKey, token: string): Promise<LeasedBatch | undefined> {
    const batch = await this.database.repository(ApiBatch).findOneBy({ tenantId, number });
    return batch?.leaseToken === token ? (batch as LeasedBatch) : undefined;
  }

  /** The file has been read: its lines may begin. */
  async begin(
    { tenantId, number, leaseToken }: LeasedBatch,
    modelName: string | null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE api_batch
          SET status = CASE status WHEN 'validating' THEN 'in_progress' ELSE status END, begin_time = now(),
              model_name = $4, lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND number = $2 AND lease_token = $3::uuid`,
      [tenantId, number, leaseToken, modelName],
    );
  }

  /** The file was refused. */
  async fail(
    { tenantId, number, leaseToken }: LeasedBatch,
    errors: readonly BatchProblem[],
  ): Promise<void> {
    await this.database.query(
      `UPDATE api_batch
          SET status = CASE status WHEN 'validating' THEN 'failed' ELSE 'cancelled' END, errors = $4::json, end_time = now(),
              lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND number = $2 AND lease_token = $3::uuid`,
      [tenantId, number, leaseToken, JSON.stringify(errors)],
    );
  }

  /** Any process takes up the batch again after this time. */
  async putOff({ tenantId, number, leaseToken }: LeasedBatch, seconds: number): Promise<void> {
    await this.database.query(
      `UPDATE api_batch SET lease_token = NULL, lease_until = NULL, due_time = now() + make_interval(secs => $4)
        WHERE tenant_id = $1 AND number = $2 AND lease_token = $3::uuid`,
      [tenantId, number, leaseToken, seconds],
    );
  }

  /** Lines with these statuses, in the order of the batch. */
  async endedLines(
    { tenantId, number }: BatchKey,
    { statuses, after, limit }: EndedLinesPage,
  ): Promise<EndedLine[]> {
    return this.database.query<EndedLine>(
      `SELECT position, custom_id AS "customId", status, status_code AS "statusCode", request_id AS "requestId", response
         FROM api_batch_line WHERE tenant_id = $1 AND batch_number = $2 AND position > $3 AND status = ANY ($5::text[])
        ORDER BY position LIMIT $4`,
      [tenantId, number, after, limit, statuses],
    );
  }

  /** Ends the batch and deletes its lines, which are now in its files. False if another process has taken it over. */
  async end(
    { tenantId, number, leaseToken }: LeasedBatch,
    { status, outputFile, errorFile, usage }: BatchEnd,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE api_batch
          SET status = $4, output_file = $5, error_file = $6, usage = $7::json, end_time = now(), lease_token = NULL,
              lease_until = NULL
        WHERE tenant_id = $1 AND number = $2 AND lease_token = $3::uuid RETURNING number`,
      [
        ...[tenantId, number, leaseToken, status, outputFile, errorFile],
        usage && JSON.stringify(usage),
      ],
    );
    if (rows.length === 0) return false;
    await this.database.query(
      'DELETE FROM api_batch_line WHERE tenant_id = $1 AND batch_number = $2',
      [tenantId, number],
    );
    return true;
  }

  /** Claims the next line, skipping batches of these users. */
  async claimLine(token: string, passedUsers: readonly number[]): Promise<LeasedLine | undefined> {
    const [line] = await acrossTenants('claim of a line of a batch', () =>
      this.database.query<LeasedLine>(CLAIM_LINE, [token, passedUsers, LEASE_SECONDS]),
    );
    return line;
  }

  /** False if the token has lost the line. */
  async endLine(line: LeasedLine, end: LineEnd): Promise<boolean> {
    const { tenantId, batchNumber, position, token } = line;
    const rows = await this.database.query(END_LINE, [
      ...[tenantId, batchNumber, position, token, end.status],
      ...[end.statusCode ?? null, end.requestId ?? null, end.response ?? null],
    ]);
    return rows.length > 0;
  }

  /** Ends the lines of the batch that have not begun. */
  async endWaiting(
    { tenantId, number }: BatchKey,
    { status, statusCode, response }: LineEnd,
  ): Promise<void> {
    await this.database.query(END_WAITING, [
      ...[tenantId, number, status, statusCode ?? null, response ?? null],
    ]);
  }

  /** Puts an unanswered line back; the line and its batch are delayed. */
  async putBack(line: LeasedLine, { seconds, isCounted }: PutBack): Promise<void> {
    const { tenantId, batchNumber, position, token } = line;
    await this.database.query(
      `WITH line AS (
         UPDATE api_batch_line SET status = 'waiting', attempts = attempts - $6, lease_token = NULL, lease_until = NULL
          WHERE tenant_id = $1 AND batch_number = $2 AND position = $3 AND lease_token = $4::uuid AND status = 'running'
         RETURNING batch_number)
       UPDATE api_batch b SET due_time = greatest(b.due_time, now() + make_interval(secs => $5)) FROM line
        WHERE b.tenant_id = $1 AND b.number = line.batch_number`,
      [tenantId, batchNumber, position, token, seconds, isCounted ? 0 : 1],
    );
  }

  /** Renews the leases of this process. Returns the tokens that are still valid. */
  async renew(tokens: readonly string[]): Promise<Set<string>> {
    const rows = await acrossTenants('renewal of batches', () =>
      this.database.query<{ token: string }>(
        `WITH line AS (
           UPDATE api_batch_line SET lease_until = now() + make_interval(secs => $2)
            WHERE lease_token = ANY ($1::uuid[]) RETURNING lease_token),
         batch AS (
           UPDATE api_batch SET lease_until = now() + make_interval(secs => $2)
            WHERE lease_token = ANY ($1::uuid[]) RETURNING lease_token)
         SELECT lease_token AS token FROM line UNION ALL SELECT lease_token FROM batch`,
        [tokens, LEASE_SECONDS],
      ),
    );
    return new Set(rows.map(({ token }) => token));
  }

  /** Puts lines back whose process has stopped, and ends those of batches that were cancelled or whose time is over. */
  async recover(): Promise<void> {
    await acrossTenants('recovery of lines of batches', () =>
      this.database.query(RECOVER, [MAX_ATTEMPTS, SWEPT_AT_ONCE]),
    );
    await acrossTenants('end of lines of batches', () => this.database.query(END_OVERDUE));
  }

  /** Batches and lines of all tenants whose process has not renewed its lease. */
  async expiredLeases(): Promise<number> {
    const [row] = await acrossTenants('metric of leases', () =>
      this.database.query<{ count: number }>(
        `SELECT (SELECT count(*) FROM api_batch WHERE end_time IS NULL AND lease_until < now())
              + (SELECT count(*) FROM api_batch_line WHERE status = 'running' AND lease_until < now()) AS count`,
      ),
    );
    return row?.count ?? 0;
  }

  /** Ends all leases: on the embedded store no other process can have one. */
  async expireAllLeases(): Promise<void> {
    await acrossTenants('leases of batches at the start', () =>
      this.database.query(
        `UPDATE api_batch_line SET lease_until = now() - interval '1 second' WHERE status = 'running'`,
      ),
    );
    await acrossTenants('leases of batches at the start', () =>
      this.database.query(
        `UPDATE api_batch SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL`,
      ),
    );
  }

  /** Removes at most 1,000 batches that ended before the days. */
  async sweep({ tenantId, userId, days }: DueRecords): Promise<Swept> {
    const rows = await this.database.query(
      `DELETE FROM api_batch WHERE tenant_id = $1 AND number IN (
         SELECT batch.number FROM api_batch batch
          WHERE batch.tenant_id = $1 AND ($2::bigint IS NULL OR batch.user_id = $2)
            AND batch.end_time < now() - make_interval(days => $3) AND ${notOnHold('batch')} LIMIT $4
       ) RETURNING number`,
      [tenantId, userId, days, SWEPT_AT_ONCE],
    );
    return { removed: rows.length, isDone: rows.length < SWEPT_AT_ONCE };
  }
}
