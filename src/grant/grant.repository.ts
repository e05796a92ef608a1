import { Injectable } from '@nestjs/common';
import { Raw } from 'typeorm';
import type { FindOperator } from 'typeorm';
import { idsOfKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Database } from '../platform/database/index.js';
import type { orderOf } from '../platform/http/index.js';
import {
  comparedSubjects,
  levelName,
  LEVELS,
  resourceOf,
  TENANT_SUBJECT,
  UnknownSubjectError,
} from './grant.rules.js';
import type { GrantLevel, ReachedType, ResourceType, SubjectKind } from './grant.rules.js';

/** The parts of a statement that the predicate refers to: columns or parameters. */
interface Places {
  /** The id of the record. */
  readonly id: string;
  readonly tenant: string;
  /** The parameter with `comparedSubjects` of the caller. */
  readonly subjects: string;
}

/**
 * The highest level of the subjects on a record; null without one. It is looked up by the record, which has few grants:
 * PostgreSQL turns a scalar query into no join, and `|| ''` keeps it from looking up, and from planning for, each subject
 * instead (`npm run bench:grants`).
 */
function highestLevel(type: ResourceType, { id, tenant, subjects }: Places): string {
  return `(SELECT max(granted.level) FROM access_grant AS granted
    WHERE granted.tenant_id = ${tenant} AND granted.resource_type = '${type}'
      AND granted.resource_id = ${id} AND granted.subject || '' = ANY (${subjects}::text[]))`;
}

/** Whether one of the subjects has the level on a record: for a record that is asked by its id, or a few of them. */
function hasGrant(type: ResourceType, level: GrantLevel, places: Places): string {
  return `coalesce(${highestLevel(type, places)} >= ${LEVELS[level]}, false)`;
}

/**
 * The same for each record of a list. The ids are looked up once by the subjects, of which a user in many groups has many:
 * IS TRUE keeps PostgreSQL from joining each row, and the inner SELECT hides the number of subjects from its planner, which
 * would compare every grant of the tenant with each of them (`npm run bench:grants`).
 */
function isGranted(
  type: ResourceType,
  level: GrantLevel,
  { id, tenant, subjects }: Places,
): string {
  return `(${id} IN (SELECT granted.resource_id FROM access_grant AS granted
    WHERE granted.tenant_id = ${tenant} AND granted.resource_type = '${type}'
      AND granted.subject = ANY ((SELECT ${subjects}::text[])::text[]) AND granted.level >= ${LEVELS[level]})) IS TRUE`;
}

/** The predicate for statements that are written by hand and ask for a record by its id. */
export function granted(type: ResourceType, level: GrantLevel, places: Places): string {
  return `(${places.subjects}::text[] IS NULL OR ${hasGrant(type, level, places)})`;
}

/** The predicate for statements that are written by hand and list records. */
export function grantedInList(type: ResourceType, level: GrantLevel, places: Places): string {
  return `(${places.subjects}::text[] IS NULL OR ${isGranted(type, level, places)})`;
}

/**
 * The predicate for TypeORM's find: the records on which the caller has the level, within the limit of their API key.
 * `ids` narrows to those.
 */
export function grantedTo(
  caller: Caller,
  type: ResourceType,
  level: GrantLevel,
  ids?: readonly number[],
): { id?: FindOperator<number> } {
  const subjects = comparedSubjects(caller);
  const { keyLimit } = resourceOf(type);
  const limit = keyLimit && idsOfKey(caller, keyLimit);
  if (subjects === null && !limit && !ids) return {};
  // A statement may ask for several callers and levels.
  const who = `${level}${caller.userId}`;
  const sql = (id: string): string => {
    const places = { id, tenant: ':tenant', subjects: `:subjects${who}` };
    const isReached = ids ? hasGrant : isGranted;
    return [
      ...(ids ? [`${id} = ANY (:ids${who})`] : []),
      ...(limit ? [`${id} = ANY (:limit${who})`] : []),
      ...(subjects === null ? [] : [isReached(type, level, places)]),
    ].join(' AND ');
  };
  const parameters = {
    tenant: caller.tenantId,
    [`ids${who}`]: ids,
    [`limit${who}`]: limit,
    [`subjects${who}`]: subjects,
  };
  return { id: Raw<number>(sql, parameters) };
}

/**
 * Whether a document hides from the subjects: it has a list of readers, none of them is on it, and none may write to the
 * base. `document` is the alias of its row. It says nothing about the right to the base.
 */
function hidesFrom(document: string, places: Omit<Places, 'id'>): string {
  return `(${document}.restricted
    AND NOT ${hasGrant('document', 'read', { id: `${document}.id`, ...places })}
    AND NOT ${hasGrant('knowledge', 'write', { id: `${document}.knowledge_id`, ...places })})`;
}

/** The predicate for statements that are written by hand: whether a caller who reaches the base may read the document. */
export function readableDocument(document: string, places: Omit<Places, 'id'>): string {
  return `(${places.subjects}::text[] IS NULL OR NOT ${hidesFrom(document, places)})`;
}

/** The predicate for TypeORM's find, on a column with the id of a document. `id` narrows to that one. */
export function readableDocuments(caller: Caller, id?: number): { id?: FindOperator<number> } {
  const readers = comparedSubjects(caller);
  if (readers === null && id === undefined) return {};
  const places = { tenant: ':tenant', subjects: ':readers' };
  const sql = (column: string): string =>
    [
      ...(id === undefined ? [] : [`${column} = :document`]),
      ...(readers === null
        ? []
        : [
            `NOT EXISTS (SELECT FROM attachment AS document
               WHERE document.tenant_id = :tenant AND document.id = ${column} AND ${hidesFrom('document', places)})`,
          ]),
    ].join(' AND ');
  return { id: Raw<number>(sql, { tenant: caller.tenantId, document: id, readers }) };
}

/** 1 if every user of the tenant has the level, else 0: a column for a view of the record. */
export function isPublished(type: ResourceType, level: GrantLevel) {
  return (record: string): string =>
    `SELECT count(*)::integer FROM access_grant AS published
      WHERE published.tenant_id = ${record}.tenant_id AND published.resource_type = '${type}'
        AND published.resource_id = ${record}.id AND published.subject = 'tenant'
        AND published.level >= ${LEVELS[level]}`;
}

export interface StoredGrant {
  readonly subject: string;
  readonly level: number;
}

/** A record and the highest level that the subjects have on it; 0 without one. */
export interface ReachedRecord {
  readonly id: number;
  readonly name: string;
  readonly level: number;
}

/** A document, the base that decides on it, and whether it has a list of readers. */
export interface StoredDocument {
  readonly id: number;
  readonly name: string;
  readonly knowledgeId: number;
  readonly restricted: boolean;
  /** Whether the subjects may read it if they reach the base. */
  readonly readable: boolean;
}

/** A grant of a subject with the record. */
export interface GrantOfSubject extends StoredGrant {
  readonly type: ResourceType;
  readonly id: number;
  readonly name: string;
}

/** A record as administrators of access see it. */
interface AdministeredRecord {
  readonly type: ReachedType;
  readonly id: number;
  readonly name: string;
  readonly ownerId: number | null;
  readonly ownerName: string | null;
  readonly grantCount: number;
  /** Whether no enabled user, role or group has the level manage. */
  readonly unmanaged: boolean;
}

interface RecordFilter {
  readonly types: readonly ReachedType[];
  /** The only ids of a type; a type that is absent has no limit. */
  readonly limits: ReadonlyMap<ReachedType, readonly number[]>;
  /** Part of the name. */
  readonly text: string;
  readonly unmanaged: boolean | null;
}

export interface NamedSubject {
  readonly subject: string;
  readonly name: string;
}

/** Rows of a page, ordered by columns of the answer. */
interface OrderedPage {
  readonly take: number;
  readonly skip: number;
  readonly order: ReturnType<typeof orderOf>;
}

function ordered(order: OrderedPage['order'], ...last: readonly string[]): string {
  const chosen = order.map(([column, direction]) => `"${column}" ${direction}`);
  return [...chosen, ...last].join(', ');
}

/** The records of the types that can be granted, by type, id and name; $1 is the tenant. */
function recordsOf(types: readonly ReachedType[]): string {
  const records = types.map((type) => {
    const { table, nameColumn, ownerColumn, condition = 'true', levels } = resourceOf(type);
    return `SELECT '${type}' AS type, id, ${nameColumn} AS name, ${ownerColumn ?? 'NULL::bigint'} AS "ownerId",
                   ${levels.includes('manage')} AS "hasManagers"
              FROM ${table} WHERE tenant_id = $1 AND ${condition}`;
  });
  return records.join(' UNION ALL ');
}

/** The tables of subjects and the columns that name them. */
const SUBJECT_TABLES: Readonly<Record<Exclude<SubjectKind, 'tenant'>, readonly [string, string]>> =
  {
    user: ['user_account', "coalesce(nullif(nick_name, ''), user_name)"],
    role: ['role', 'role_name'],
    group: ['user_group', 'display_name'],
  };

/** The rows of access_grant, and the names of what they refer to. */
@Injectable()
export class GrantRepository {
  constructor(private readonly database: Database) {}

  async put(
    { tenantId, userId }: Caller,
    type: ResourceType,
    id: number,
    grants: readonly StoredGrant[],
  ): Promise<void> {
    if (grants.length === 0) return;
    await this.database.query(
      `INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level, create_by)
         SELECT $1, $2, $3, subject, level, $6 FROM unnest($4::text[], $5::smallint[]) AS one (subject, level)
       ON CONFLICT (tenant_id, resource_type, resource_id, subject)
         DO UPDATE SET level = excluded.level, create_by = excluded.create_by, create_time = now()`,
      [
        tenantId,
        type,
        id,
        grants.map(({ subject }) => subject),
        grants.map(({ level }) => level),
        userId || null,
      ],
    );
  }

  async remove(
    tenantId: string,
    type: ResourceType,
    id: number,
    subjects: readonly string[],
  ): Promise<void> {
    await this.database.query(
      `DELETE FROM access_grant
        WHERE tenant_id = $1 AND resource_type = $2 AND resource_id = $3 AND subject = ANY ($4::text[])`,
      [tenantId, type, id, subjects],
    );
  }

  /** The grants of the record, highest first. */
  async of(tenantId: string, type: ResourceType, id: number): Promise<StoredGrant[]> {
    return this.database.query<StoredGrant>(
      `SELECT subject, level FROM access_grant
        WHERE tenant_id = $1 AND resource_type = $2 AND resource_id = $3 ORDER BY level DESC, subject`,
      [tenantId, type, id],
    );
  }

  /** All grants of the records of a type, for a cache. */
  async ofType(
    tenantId: string,
    type: ResourceType,
  ): Promise<{ readonly id: number; readonly subject: string }[]> {
    return this.database.query(
      'SELECT resource_id AS id, subject FROM access_grant WHERE tenant_id = $1 AND resource_type = $2',
      [tenantId, type],
    );
  }

  /** The record with the highest level of the subjects; undefined for one that is not there or is not granted at all. */
  async record(
    tenantId: string,
    type: ResourceType,
    id: number,
    subjects: readonly string[],
  ): Promise<ReachedRecord | undefined> {
    const { table, nameColumn, condition = 'true' } = resourceOf(type);
    const level = highestLevel(type, { id: `${table}.id`, tenant: '$1', subjects: '$3' });
    const [record] = await this.database.query<ReachedRecord>(
      `SELECT id, ${nameColumn} AS name, coalesce(${level}, 0) AS level FROM ${table}
        WHERE tenant_id = $1 AND id = $2 AND ${condition}`,
      [tenantId, id, subjects],
    );
    return record;
  }

  async document(
    tenantId: string,
    id: number,
    subjects: readonly string[] | null,
  ): Promise<StoredDocument | undefined> {
    const readable = readableDocument('document', { tenant: '$1', subjects: '$3' });
    const [document] = await this.database.query<StoredDocument>(
      `SELECT id, name, knowledge_id AS "knowledgeId", restricted, ${readable} AS readable
         FROM attachment AS document WHERE tenant_id = $1 AND id = $2`,
      [tenantId, id, subjects],
    );
    return document;
  }

  /** Locks the base of the document, before the document as everywhere, until the open transaction ends. */
  async lockBase(tenantId: string, documentId: number): Promise<void> {
    await this.database.query(
      `SELECT id FROM knowledge_base WHERE tenant_id = $1
          AND id = (SELECT knowledge_id FROM attachment WHERE tenant_id = $1 AND id = $2) FOR NO KEY UPDATE`,
      [tenantId, documentId],
    );
  }

  /**
   * Notes whether the document has a list of readers, and whether its base has such documents. Call `lockBase` before: two
   * changes at a time would each miss the other.
   */
  async restrict(tenantId: string, documentId: number, restricted: boolean): Promise<void> {
    await this.database.query(
      'UPDATE attachment SET restricted = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, documentId, restricted],
    );
    // Names that its former list waited for.
    await this.database.query(
      'DELETE FROM source_reader WHERE tenant_id = $1 AND attachment_id = $2',
      [tenantId, documentId],
    );
    await this.database.query(
      `UPDATE knowledge_base AS base
          SET restricted = EXISTS (SELECT FROM attachment AS document
                WHERE document.tenant_id = $1 AND document.knowledge_id = base.id AND document.restricted)
        WHERE tenant_id = $1 AND id = (SELECT knowledge_id FROM attachment WHERE tenant_id = $1 AND id = $2)`,
      [tenantId, documentId],
    );
  }

  /** Locks the record against deletion until the open transaction ends. */
  async keep(tenantId: string, type: ResourceType, id: number): Promise<void> {
    const { table } = resourceOf(type);
    await this.database.query(
      `SELECT id FROM ${table} WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE`,
      [tenantId, id],
    );
  }

  /** The highest level of the subjects on each of the records; without one a record is left out. */
  async levels(
    tenantId: string,
    type: ResourceType,
    ids: readonly number[],
    subjects: readonly string[],
  ): Promise<Map<number, GrantLevel>> {
    const rows = await this.database.query<{ id: number; level: number }>(
      `SELECT resource_id AS id, max(level) AS level FROM access_grant
        WHERE tenant_id = $1 AND resource_type = $2 AND resource_id = ANY ($3::bigint[])
          AND subject || '' = ANY ($4::text[])
        GROUP BY resource_id`,
      [tenantId, type, ids, subjects],
    );
    return new Map(rows.map(({ id, level }) => [id, levelName(level)]));
  }

  /**
   * The records that the subjects are granted, with the grant of each subject. `managedBy` narrows to records
   * on which one of those has the level manage; null does not.
   */
  async ofSubjects(
    tenantId: string,
    subjects: readonly string[],
    types: readonly ReachedType[],
    managedBy: readonly string[] | null,
    { take, skip, order }: OrderedPage,
  ): Promise<{ rows: GrantOfSubject[]; total: number }> {
    const rows = await this.database.query<GrantOfSubject & { readonly total: number }>(
      `SELECT record.type, record.id, record.name, g.subject, g.level, count(*) OVER ()::integer AS total
         FROM access_grant AS g
         JOIN (${recordsOf(types)}) AS record ON record.type = g.resource_type AND record.id = g.resource_id
        WHERE g.tenant_id = $1 AND g.subject = ANY ($2::text[])
          AND ($3::text[] IS NULL OR EXISTS (SELECT FROM access_grant AS managed
                WHERE managed.tenant_id = $1 AND managed.resource_type = g.resource_type
                  AND managed.resource_id = g.resource_id AND managed.subject = ANY ($3::text[])
                  AND managed.level >= ${LEVELS.manage}))
        ORDER BY ${ordered(order, 'type', 'id', 'subject')} LIMIT $4 OFFSET $5`,
      [tenantId, subjects, managedBy, take, skip],
    );
    return { rows, total: rows[0]?.total ?? 0 };
  }

  /** The records of the tenant with their owners. A manager is a role, a group, the tenant or a user who is not disabled. */
  async records(
    tenantId: string,
    { types, limits, text, unmanaged }: RecordFilter,
    { take, skip, order }: OrderedPage,
  ): Promise<{ rows: AdministeredRecord[]; total: number }> {
    const allowed = [...limits].flatMap(([type, ids]) => ids.map((id) => [type, id] as const));
    const rows = await this.database.query<AdministeredRecord & { readonly total: number }>(
      `SELECT record.type, record.id, record.name, record."ownerId", ${SUBJECT_TABLES.user[1]} AS "ownerName",
              grants."grantCount", grants.unmanaged, count(*) OVER ()::integer AS total
         FROM (${recordsOf(types)}) AS record
         LEFT JOIN user_account AS owner ON owner.tenant_id = $1 AND owner.id = record."ownerId"
        CROSS JOIN LATERAL (
          SELECT count(*)::integer AS "grantCount",
                 record."hasManagers" AND NOT coalesce(bool_or(g.level >= ${LEVELS.manage} AND NOT EXISTS (
                   SELECT FROM user_account AS manager WHERE manager.tenant_id = $1 AND manager.status <> '0'
                      AND manager.id = substring(g.subject FROM '^user:([0-9]+)$')::bigint)), false) AS unmanaged
            FROM access_grant AS g
           WHERE g.tenant_id = $1 AND g.resource_type = record.type AND g.resource_id = record.id) AS grants
        WHERE strpos(lower(record.name), lower($2)) > 0
          AND ($3::boolean IS NULL OR grants.unmanaged = $3)
          AND (record.type <> ALL ($6::text[])
            OR (record.type, record.id) IN (SELECT * FROM unnest($7::text[], $8::bigint[])))
        ORDER BY ${ordered(order, 'lower(record.name)', 'record.type', 'record.id')} LIMIT $4 OFFSET $5`,
      [
        ...[tenantId, text, unmanaged, take, skip, [...limits.keys()]],
        ...[allowed.map(([type]) => type), allowed.map(([, id]) => id)],
      ],
    );
    return { rows, total: rows[0]?.total ?? 0 };
  }

  /** The existing ones among the subjects, with their names. */
  async names(tenantId: string, subjects: readonly string[]): Promise<Map<string, string>> {
    const named = await this.database.query<NamedSubject>(
      Object.entries(SUBJECT_TABLES)
        .map(
          ([kind, [table, name]]) =>
            `SELECT '${kind}:' || id AS subject, ${name} AS name FROM ${table}
              WHERE tenant_id = $1 AND id IN (
                SELECT split_part(one, ':', 2)::bigint FROM unnest($2::text[]) AS one WHERE one LIKE '${kind}:%')`,
        )
        .join(' UNION ALL '),
      [tenantId, subjects],
    );
    return new Map(named.map(({ subject, name }) => [subject, name]));
  }

  /** Throws UnknownSubjectError for the first one that does not exist. */
  async requireSubjects(tenantId: string, subjects: readonly string[]): Promise<void> {
    const named = subjects.filter((one) => one !== TENANT_SUBJECT);
    if (named.length === 0) return;
    const names = await this.names(tenantId, named);
    const unknown = named.find((subject) => !names.has(subject));
    if (unknown !== undefined) throw new UnknownSubjectError(unknown);
  }

  /** Subjects of the kinds whose name contains the text, by name. */
  async search(
    tenantId: string,
    text: string,
    kinds: readonly SubjectKind[],
    limit: number,
  ): Promise<NamedSubject[]> {
    return this.database.query<NamedSubject>(
      `SELECT subject, name FROM (${Object.entries(SUBJECT_TABLES)
        .map(
          ([kind, [table, name]]) =>
            `SELECT '${kind}' AS kind, '${kind}:' || id AS subject, ${name} AS name FROM ${table} WHERE tenant_id = $1`,
        )
        .join(' UNION ALL ')}) AS one
        WHERE kind = ANY ($3::text[]) AND strpos(lower(name), lower($2)) > 0
        ORDER BY lower(name), subject LIMIT $4`,
      [tenantId, text, kinds, limit],
    );
  }
}
