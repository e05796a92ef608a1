import { Injectable } from '@nestjs/common';
import { Raw } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import {
  acrossTenants,
  Database,
  inTenant,
  SealedColumns,
  TenantScoped,
} from '../platform/database/index.js';
import type { SealedColumn } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { Attachment } from '../attach/index.js';
import type { Acl, UnknownReader } from './acl.js';
import { KnowledgeSource, SourceRun } from './source.entity.js';
import type { RunError, RunState, RunTrigger, SourceKind } from './source.entity.js';

/** A document as its source last put it. */
export type SourceDocument = Pick<
  Attachment,
  'id' | 'name' | 'etag' | 'fileHash' | 'ossId' | 'metadata' | 'seenAt'
>;

/** What a run counts. */
export type RunCount = 'created' | 'changed' | 'unchanged' | 'failed';

/** A source with its last run and the number of its documents. */
export interface ListedSource extends KnowledgeSource {
  readonly documentCount: number;
  readonly lastRun: SourceRun | null;
}

/** A source whose schedule is looked at; `since` is the time after which its next run is due. */
interface DueSource {
  readonly id: number;
  readonly tenantId: string;
  readonly cron: string;
  readonly timeZone: string | null;
  readonly since: Date;
}

/** Duration of a claim of a run without renewal. */
export const LEASE_SECONDS = 60;
/** Processes that may lose a run before it fails. */
const MAX_ATTEMPTS = 3;
const MAX_SCHEDULED = 10_000;
const MAX_UNCLAIMED = 500;
const LEASE = `now() + interval '${LEASE_SECONDS} seconds'`;
/** Open runs of connectors that no process has. */
const UNCLAIMED = `run.state = 'open' AND run.trigger <> 'push' AND (run.lease_token IS NULL OR run.lease_until < now())`;

const MAX_SOURCES = 100;
const MAX_RUN_ERRORS = 20;
/** Runs of a source that are kept. */
const MAX_RUNS = 20;
/** Names of readers that one statement looks for. */
const MAX_NAMES = 1_000;

const STALE = `document.tenant_id = $1 AND document.source_id = $2
  AND (document.seen_at IS NULL OR document.seen_at < run.began_at)`;

@Injectable()
export class SourceRepository {
  readonly sources: TenantScoped<KnowledgeSource>;
  readonly runs: TenantScoped<SourceRun>;
  /** The tokens of connectors. */
  readonly tokens: SealedColumn;

  constructor(
    private readonly database: Database,
    sealed: SealedColumns,
  ) {
    this.tokens = sealed.add('knowledge_source', 'secret');
    this.sources = new TenantScoped(database, KnowledgeSource, msg`The source`);
    this.runs = new TenantScoped(database, SourceRun, msg`The run`);
  }

  /** The sources of the base, by name. */
  async list(tenantId: string, knowledgeId: number): Promise<ListedSource[]> {
    const sources = await this.sources.rows.find({
      where: { tenantId, knowledgeId },
      order: { name: 'ASC' },
      take: MAX_SOURCES,
    });
    const ids = sources.map(({ id }) => id);
    const counts = await this.database.query<{ id: number; count: number }>(
      `SELECT source_id AS id, count(*)::integer AS count FROM attachment
        WHERE tenant_id = $1 AND source_id = ANY ($2::bigint[]) GROUP BY source_id`,
      [tenantId, ids],
    );
    const runs = await this.runs.find(tenantId, {
      id: Raw(
        (id) => `${id} IN (SELECT max(last.id) FROM source_run AS last
                  WHERE last.tenant_id = :tenant AND last.source_id = ANY (:ids) GROUP BY last.source_id)`,
        { tenant: tenantId, ids },
      ),
    });
    const countOf = new Map(counts.map(({ id, count }) => [id, count]));
    const runOf = new Map(runs.map((run) => [run.sourceId, run]));
    return sources.map((source) => ({
      ...source,
      documentCount: countOf.get(source.id) ?? 0,
      lastRun: runOf.get(source.id) ?? null,
    }));
  }

  async named(
    tenantId: string,
    knowledgeId: number,
    name: string,
  ): Promise<KnowledgeSource | null> {
    return this.sources.findOne(tenantId, { knowledgeId, name });
  }

  /** The source of the base with the name, which is made where there is none. */
  async make(
    { tenantId, userId }: Caller,
    knowledgeId: number,
    name: string,
    kind: SourceKind,
  ): Promise<KnowledgeSource> {
    await this.database.query(
      `INSERT INTO knowledge_source (tenant_id, knowledge_id, user_id, name, kind) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (knowledge_id, name) DO NOTHING`,
      [tenantId, knowledgeId, userId || null, name, kind],
    );
    const source = await this.named(tenantId, knowledgeId, name);
    if (!source) throw new Error('The source was not made.');
    return source;
  }

  /** The document that the source has put under the id. */
  async document(
    tenantId: string,
    sourceId: number,
    externalId: string,
  ): Promise<SourceDocument | undefined> {
    const [document] = await this.database.query<SourceDocument>(
      `SELECT id, name, etag, file_hash AS "fileHash", oss_id AS "ossId", metadata, seen_at AS "seenAt" FROM attachment
        WHERE tenant_id = $1 AND source_id = $2 AND external_id = $3`,
      [tenantId, sourceId, externalId],
    );
    return document;
  }

  /** Notes that the source has put the document now. */
  async seen(tenantId: string, documentId: number, etag: string | undefined): Promise<void> {
    await this.database.query(
      `UPDATE attachment SET seen_at = clock_timestamp(), etag = coalesce($3, etag) WHERE tenant_id = $1 AND id = $2`,
      [tenantId, documentId, etag],
    );
  }

  async change(
    tenantId: string,
    documentId: number,
    { name, metadata }: Partial<Pick<Attachment, 'name' | 'metadata'>>,
  ): Promise<void> {
    await this.database.query(
      `UPDATE attachment SET name = coalesce($3, name), metadata = coalesce($4::jsonb, metadata), update_time = now()
        WHERE tenant_id = $1 AND id = $2`,
      [tenantId, documentId, name, metadata],
    );
  }

  /** Documents of the source, up to the limit. */
  async documents(tenantId: string, sourceId: number, limit: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      'SELECT id FROM attachment WHERE tenant_id = $1 AND source_id = $2 ORDER BY id LIMIT $3',
      [tenantId, sourceId, limit],
    );
    return rows.map(({ id }) => id);
  }

  async countDocuments(tenantId: string, sourceId: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM attachment WHERE tenant_id = $1 AND source_id = $2',
      [tenantId, sourceId],
    );
    return row?.count ?? 0;
  }

  /** Documents that the source has not put since the run began, up to the limit. */
  async stale(tenantId: string, { id, sourceId }: SourceRun, limit: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT document.id FROM attachment AS document
         JOIN source_run AS run ON run.tenant_id = $1 AND run.id = $3
        WHERE ${STALE} ORDER BY document.id LIMIT $4`,
      [tenantId, sourceId, id, limit],
    );
    return rows.map((row) => row.id);
  }

  /** The documents of the source, and how many of them it has not put since the run began. */
  async progress(
    tenantId: string,
    { id, sourceId }: SourceRun,
  ): Promise<{ total: number; stale: number }> {
    const [row] = await this.database.query<{ total: number; stale: number }>(
      `SELECT count(*)::integer AS total, (count(*) FILTER (WHERE ${STALE}))::integer AS stale
         FROM attachment AS document JOIN source_run AS run ON run.tenant_id = $1 AND run.id = $3
        WHERE document.tenant_id = $1 AND document.source_id = $2`,
      [tenantId, sourceId, id],
    );
    return row ?? { total: 0, stale: 0 };
  }

  /** The run of the source that is open, locked until the open transaction ends. */
  async lockOpenRun(tenantId: string, sourceId: number): Promise<SourceRun | null> {
    await this.database.query(
      'SELECT id FROM knowledge_source WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
      [tenantId, sourceId],
    );
    return this.runs.findOne(tenantId, { sourceId, state: 'open' });
  }

  async runOf(tenantId: string, sourceId: number, cursor: string): Promise<SourceRun | null> {
    return this.runs.findOne(tenantId, { sourceId, cursor });
  }

  /**
   * Opens a run in the place of the one that is open; null if there is a run for the time already. Call it in a transaction after
   * `lockOpenRun`.
   */
  async begin(
    tenantId: string,
    sourceId: number,
    trigger: RunTrigger,
    dueAt?: Date,
  ): Promise<SourceRun | null> {
    await this.database.query(
      `UPDATE source_run SET state = 'replaced', ended_at = now(), lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND source_id = $2 AND state = 'open'`,
      [tenantId, sourceId],
    );
    const [row] = await this.database.query<{ id: number }>(
      `INSERT INTO source_run (tenant_id, source_id, cursor, trigger, due_at)
       VALUES ($1, $2, gen_random_uuid(), $3, coalesce($4, clock_timestamp()))
       ON CONFLICT (source_id, due_at) DO NOTHING RETURNING id`,
      [tenantId, sourceId, trigger, dueAt],
    );
    await this.database.query(
      `DELETE FROM source_run WHERE tenant_id = $1 AND source_id = $2
          AND id < (SELECT min(id) FROM (SELECT id FROM source_run WHERE tenant_id = $1 AND source_id = $2
                                          ORDER BY id DESC LIMIT ${MAX_RUNS}) AS last)`,
      [tenantId, sourceId],
    );
    return row ? this.runs.get(tenantId, row.id) : null;
  }

  /** Counts an outcome in the open run of the source, if there is one, and notes the first failures. */
  async count(
    tenantId: string,
    sourceId: number,
    count: RunCount,
    error: RunError | null = null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE source_run SET ${count}_count = ${count}_count + 1,
              errors = CASE WHEN $3::jsonb IS NULL OR jsonb_array_length(errors) >= ${MAX_RUN_ERRORS} THEN errors
                            ELSE errors || $3::jsonb END
        WHERE tenant_id = $1 AND source_id = $2 AND state = 'open'`,
      [tenantId, sourceId, error && JSON.stringify([error])],
    );
  }

  async countRemoved(tenantId: string, sourceId: number, removed: number): Promise<void> {
    await this.database.query(
      `UPDATE source_run SET removed_count = removed_count + $3 WHERE tenant_id = $1 AND source_id = $2 AND state = 'open'`,
      [tenantId, sourceId, removed],
    );
  }

  /** Ends the run if it is open. */
  async end(
    tenantId: string,
    runId: number,
    state: RunState,
    failure: SourceRun['failure'] = null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE source_run SET state = $3, failure = $4, ended_at = now(), lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND id = $2 AND state = 'open'`,
      [tenantId, runId, state, failure],
    );
  }

  /** Connectors with a schedule, of all tenants. */
  async scheduled(): Promise<DueSource[]> {
    return acrossTenants('schedules of sources', () =>
      this.database.query<DueSource>(
        `SELECT source.id, source.tenant_id AS "tenantId", source.cron, source.time_zone AS "timeZone",
                greatest(source.update_time, (SELECT max(greatest(run.due_at, run.began_at)) FROM source_run AS run
                                               WHERE run.source_id = source.id)) AS since
           FROM knowledge_source AS source WHERE source.cron IS NOT NULL AND NOT source.paused
          ORDER BY source.id LIMIT ${MAX_SCHEDULED}`,
      ),
    );
  }

  async unclaimedRuns(): Promise<Pick<SourceRun, 'id' | 'tenantId'>[]> {
    return acrossTenants('sweep of runs of sources', () =>
      this.database.query<Pick<SourceRun, 'id' | 'tenantId'>>(
        `SELECT run.id, run.tenant_id AS "tenantId" FROM source_run AS run
          WHERE ${UNCLAIMED} ORDER BY run.id LIMIT ${MAX_UNCLAIMED}`,
      ),
    );
  }

  async failExhaustedRuns(reason: Message): Promise<void> {
    await acrossTenants('sweep of runs of sources', () =>
      this.database.query(
        `UPDATE source_run AS run SET state = 'failed', failure = $1, ended_at = now(), lease_token = NULL, lease_until = NULL
          WHERE ${UNCLAIMED} AND run.attempts >= ${MAX_ATTEMPTS}`,
        [reason],
      ),
    );
  }

  /** Runs of all tenants whose process has not renewed its lease. */
  async expiredLeases(): Promise<number> {
    const [row] = await acrossTenants('metric of leases', () =>
      this.database.query<{ count: number }>(
        `SELECT count(*) AS count FROM source_run WHERE state = 'open' AND lease_until < now()`,
      ),
    );
    return row?.count ?? 0;
  }

  /** Releases all leases, at the start of the only process of a store. */
  async expireRunLeases(): Promise<void> {
    await acrossTenants('expiry of leases at the start', () =>
      this.database.query(
        `UPDATE source_run SET lease_until = now() - interval '1 second' WHERE state = 'open' AND lease_token IS NOT NULL`,
      ),
    );
  }

  /** Claims a run that no process has; undefined when there is nothing to claim. */
  async claimRun(tenantId: string, runId: number, token: string): Promise<SourceRun | undefined> {
    const [row] = await this.database.query<{ id: number }>(
      `UPDATE source_run AS run SET lease_token = $3, lease_until = ${LEASE}, attempts = run.attempts + 1
        WHERE run.tenant_id = $1 AND run.id = $2 AND ${UNCLAIMED} AND run.attempts < ${MAX_ATTEMPTS} RETURNING run.id`,
      [tenantId, runId, token],
    );
    return row && this.runs.get(tenantId, row.id);
  }

  /** False when the lease is lost. */
  async renewRun(tenantId: string, runId: number, token: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE source_run SET lease_until = ${LEASE}
        WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND state = 'open' RETURNING id`,
      [tenantId, runId, token],
    );
    return rows.length > 0;
  }

  /** Gives the run back to another process; the attempt does not count. */
  async releaseRun(tenantId: string, runId: number, token: string): Promise<void> {
    await this.database.query(
      `UPDATE source_run SET lease_token = NULL, lease_until = NULL, attempts = attempts - 1
        WHERE tenant_id = $1 AND id = $2 AND lease_token = $3`,
      [tenantId, runId, token],
    );
  }

  /**
   * The subjects that an acl names, and the names that no user or group has, or that several have. A user is named by user name, by
   * the id in the directory or by e-mail; a group by the id in the directory or by name. An address that a user has entered
   * for themselves names no one.
   */
  async subjectsOf(
    tenantId: string,
    { users, groups }: Exclude<Acl, 'public'>,
  ): Promise<{ subjects: string[]; unknown: UnknownReader[] }> {
    const ids = {
      user: await this.idsByName(tenantId, USERS_BY_NAME, users),
      group: await this.idsByName(tenantId, GROUPS_BY_NAME, groups),
    };
    const subjects = new Set<string>();
    const unknown: UnknownReader[] = [];
    for (const [kind, names] of [
      ['user', users],
      ['group', groups],
    ] as const) {
      for (const name of names) {
        const id = ids[kind].get(name);
        if (id === undefined) unknown.push({ kind, name });
        else subjects.add(`${kind}:${id}`);
      }
    }
    return { subjects: [...subjects], unknown };
  }

  private async idsByName(
    tenantId: string,
    matches: string,
    names: readonly string[],
  ): Promise<Map<string, number>> {
    if (names.length === 0) return new Map();
    const rows = await this.database.query<{ name: string; id: number }>(
      `WITH given AS (SELECT DISTINCT name FROM unnest($2::text[]) AS name), matches AS (${matches})
       SELECT name, min(id) AS id FROM matches
        WHERE rank = (SELECT min(better.rank) FROM matches AS better WHERE better.name = matches.name)
        GROUP BY name HAVING count(DISTINCT id) = 1`,
      [tenantId, names],
    );
    return new Map(rows.map(({ name, id }) => [name, id]));
  }

  /** The names that a document waits for. */
  async unknownReaders(tenantId: string, documentId: number): Promise<UnknownReader[]> {
    return this.database.query<UnknownReader>(
      'SELECT kind, name FROM source_reader WHERE tenant_id = $1 AND attachment_id = $2 ORDER BY kind DESC, name',
      [tenantId, documentId],
    );
  }

  async addUnknownReaders(
    tenantId: string,
    documentId: number,
    unknown: readonly UnknownReader[],
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO source_reader (attachment_id, tenant_id, kind, name)
       SELECT $2, $1, kind, name FROM unnest($3::text[], $4::text[]) AS one (kind, name) ON CONFLICT DO NOTHING`,
      [tenantId, documentId, unknown.map(({ kind }) => kind), unknown.map(({ name }) => name)],
    );
  }

  async tenantsWithUnknownReaders(): Promise<string[]> {
    const rows = await acrossTenants('readers that sources have named', () =>
      this.database.query<{ tenantId: string }>(
        'SELECT DISTINCT tenant_id AS "tenantId" FROM source_reader',
      ),
    );
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Makes those of the names readers that a user or group has by now. Answers how many. */
  async resolveReaders(tenantId: string, stopping: AbortSignal): Promise<number> {
    let resolved = 0;
    for (let last: UnknownReader | undefined; !stopping.aborted;) {
      const after = last;
      const names = await inTenant(tenantId, () =>
        this.database.query<UnknownReader>(
          `SELECT DISTINCT kind, name FROM source_reader WHERE tenant_id = $1
              AND ($2::text IS NULL OR (kind, name) > ($2, $3)) ORDER BY kind, name LIMIT ${MAX_NAMES}`,
          [tenantId, after?.kind, after?.name],
        ),
      );
      const listed = (kind: string) =>
        names.filter((one) => one.kind === kind).map((one) => one.name);
      const listedNames = { user: listed('user'), group: listed('group') };
      const ids = await inTenant(tenantId, async () => ({
        user: await this.idsByName(tenantId, USERS_BY_NAME, listedNames.user),
        group: await this.idsByName(tenantId, GROUPS_BY_NAME, listedNames.group),
      }));
      for (const { kind, name } of names) {
        const id = ids[kind].get(name);
        if (id === undefined) continue;
        await this.resolveReader(tenantId, { kind, name }, `${kind}:${id}`);
        resolved += 1;
      }
      last = names.at(-1);
      if (names.length < MAX_NAMES) break;
    }
    return resolved;
  }

  /** Locks the documents first, as a change of their readers does. */
  private async resolveReader(
    tenantId: string,
    { kind, name }: UnknownReader,
    subject: string,
  ): Promise<void> {
    const parameters = [tenantId, kind, name];
    await this.database.transactionIn(tenantId, async () => {
      await this.database.query(
        `SELECT id FROM attachment WHERE tenant_id = $1 AND id IN (
           SELECT attachment_id FROM source_reader WHERE tenant_id = $1 AND kind = $2 AND name = $3)
         ORDER BY id FOR UPDATE`,
        parameters,
      );
      await this.database.query(
        `WITH resolved AS (DELETE FROM source_reader WHERE tenant_id = $1 AND kind = $2 AND name = $3 RETURNING attachment_id)
         INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level)
         SELECT $1, 'document', attachment_id, $4, 2 FROM resolved ON CONFLICT DO NOTHING`,
        [...parameters, subject],
      );
    });
  }
}

/** The first kind of name that exactly one user has. */
const USERS_BY_NAME = `
  SELECT given.name, 1 AS rank, one.id FROM given
    JOIN user_account AS one ON one.tenant_id = $1 AND lower(one.user_name) = lower(given.name)
  UNION ALL
  SELECT given.name, 2, one.user_id FROM given
    JOIN provisioned_user AS one ON one.tenant_id = $1 AND one.external_id = given.name
  UNION ALL
  SELECT given.name, 3, one.id FROM given
    JOIN user_account AS one ON one.tenant_id = $1 AND lower(one.email) = lower(given.name)
     AND one.chosen_email IS DISTINCT FROM one.email`;

const GROUPS_BY_NAME = `
  SELECT given.name, 1 AS rank, one.id FROM given
    JOIN user_group AS one ON one.tenant_id = $1 AND one.external_id = given.name
  UNION ALL
  SELECT given.name, 2, one.id FROM given
    JOIN user_group AS one ON one.tenant_id = $1 AND lower(one.display_name) = lower(given.name)`;
