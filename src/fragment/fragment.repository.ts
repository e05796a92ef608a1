import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { FindOperator } from 'typeorm';
import type { AnalysedText } from './keyword/text-analysis.js';
import type { FragmentDraft } from './splitter/index.js';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { CreateFragmentBody, FragmentListQuery } from './fragment.dto.js';
import { Fragment } from './fragment.entity.js';
import { comparedSubjects, readableDocument, readableDocuments } from '../grant/index.js';
import type { Caller } from '../platform/access/index.js';
import { jsonPathOf } from '../metadata/index.js';
import type { DocumentReader, MetadataFilter, ReachedBase } from '../metadata/index.js';

/** A fragment that is about to be stored under an id of `reserveIds`. */
export interface NewFragment extends FragmentDraft {
  readonly id: number;
  /** Running number in the document, from 0. */
  readonly idx: number;
  /** A line that a model wrote about it. */
  readonly context?: string | null;
  readonly analysed: AnalysedText;
}

/** The document whose fragments they are. */
export interface DocumentScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly docId: string;
}

/** Separator of the headings of a fragment, outermost first, in a single text. */
export const HEADING_SEPARATOR = ' > ';

/**
 * Text of a fragment in both search channels: its content, below its context and the headings that it does not contain.
 */
export function searchableText({
  content,
  headings,
  context = null,
}: {
  readonly content: string;
  readonly headings: readonly string[];
  readonly context?: string | null;
}): string {
  const missing = headings.filter((heading) => !content.includes(heading));
  const above = missing.length === 0 ? [] : [missing.join(HEADING_SEPARATOR)];
  return [...(context === null ? [] : [context]), ...above, content].join('\n\n');
}

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 10;

/** Ten random characters of a-z and 0-9, by which clients name a document (docId) or a fragment (fid). */
export function randomName(): string {
  return Array.from({ length: LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
}

/** A document as far as its fragments need it; its table is the feature's below. */
export interface DocumentRow {
  readonly attachmentId: number;
  readonly knowledgeId: number;
  readonly docId: string;
}

/** Rows of one INSERT. */
const BATCH = 500;

/** Widths of the columns. */
const HEADINGS = 1_000;
const LOCATION = 200;

@Injectable()
export class FragmentRepository {
  readonly fragments: TenantScoped<Fragment>;

  constructor(private readonly database: Database) {
    this.fragments = new TenantScoped(database, Fragment, msg`The fragment`);
  }

  /** Fragments of the documents of the bases that the caller may read. */
  async page(
    caller: Caller,
    knowledgeIds: readonly number[],
    { docId, fid, idx, content, ...query }: FragmentListQuery,
  ): Promise<Page<Fragment>> {
    const where = {
      knowledgeId: Any([...knowledgeIds]),
      ...ofReadable(caller),
      ...(docId && { docId }),
      ...(fid && { fid }),
      ...(idx !== undefined && { idx }),
      ...(content && { content: containing(content) }),
    };
    return this.fragments.page(caller.tenantId, query, where, { idx: 'ASC', id: 'ASC' });
  }

  /** The fragment, if its document is not hidden from the caller; otherwise NotFoundError. */
  async readable(caller: Caller, id: number): Promise<Fragment> {
    return this.fragments.get(caller.tenantId, id, ofReadable(caller));
  }

  /** Those of the fragments whose documents are not hidden from the caller. */
  async find(caller: Caller, ids: readonly number[]): Promise<Fragment[]> {
    const where = { id: Any([...ids]), ...ofReadable(caller) };
    return this.fragments.find(caller.tenantId, where, { id: 'ASC' });
  }

  /** The texts of a document and the headings above them, in its order. */
  async texts(
    tenantId: string,
    attachmentId: number,
  ): Promise<Pick<Fragment, 'id' | 'content' | 'headings' | 'context'>[]> {
    return this.database.query(
      `SELECT id, content, headings, context FROM fragment
        WHERE tenant_id = $1 AND attachment_id = $2 ORDER BY idx, id`,
      [tenantId, attachmentId],
    );
  }

  /** The document with all that is given of the two, if it is not hidden from the caller. */
  async document(
    caller: Caller,
    { docId, attachId }: Pick<CreateFragmentBody, 'docId' | 'attachId'>,
  ): Promise<DocumentRow | undefined> {
    const [row] = await this.database.query<DocumentRow>(
      `SELECT id AS "attachmentId", knowledge_id AS "knowledgeId", doc_id AS "docId" FROM attachment
        WHERE tenant_id = $1 AND ($2::text IS NULL OR doc_id = $2) AND ($3::bigint IS NULL OR id = $3)
          AND ${readableDocument('attachment', { tenant: '$1', subjects: '$4' })}
        LIMIT 1`,
      [caller.tenantId, docId ?? null, attachId ?? null, comparedSubjects(caller)],
    );
    return row;
  }

  /** Holds back parsings that would replace the fragments; answers which of the documents are still there. */
  async lockDocuments(tenantId: string, attachmentIds: readonly number[]): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM attachment WHERE tenant_id = $1 AND id = ANY ($2::bigint[])
        ORDER BY id FOR NO KEY UPDATE`,
      [tenantId, attachmentIds],
    );
    return rows.map(({ id }) => id);
  }

  /** Ids that no fragment has and none will be given again. */
  async reserveIds(count: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT nextval(pg_get_serial_sequence('fragment', 'id')) AS id FROM generate_series(1, $1)`,
      [count],
    );
    return rows.map(({ id }) => id);
  }

  /** The highest id that was reserved so far; those after it belong to work that began later. */
  async lastId(): Promise<number> {
    const [row] = await this.database.query<{ last: number | null }>(
      `SELECT pg_sequence_last_value(pg_get_serial_sequence('fragment', 'id')::regclass) AS last`,
    );
    return row?.last ?? 0;
  }

  async insertAll(scope: DocumentScope, fragments: readonly NewFragment[]): Promise<void> {
    for (let start = 0; start < fragments.length; start += BATCH) {
      await this.insertBatch(scope, fragments.slice(start, start + BATCH));
    }
  }

  /** Adds one that was written by hand, by default after the last one of its document. */
  async insertEdited(
    { tenantId, knowledgeId, attachmentId, docId }: DocumentScope,
    values: Pick<Fragment, 'content' | 'language' | 'termCount' | 'remark'> & {
      readonly idx: number | undefined;
    },
  ): Promise<Fragment> {
    const idx = values.idx ?? (await this.nextIdx(tenantId, attachmentId));
    const identity = { knowledgeId, attachmentId, docId, fid: randomName(), edited: true };
    return this.fragments.insert(tenantId, { ...values, ...identity, idx });
  }

  /** Removes the fragments of a document except the given ones. */
  async removeOthers(
    { tenantId, attachmentId }: DocumentScope,
    remainingIds: readonly number[],
  ): Promise<void> {
    await this.database.query(
      'DELETE FROM fragment WHERE tenant_id = $1 AND attachment_id = $2 AND id <> ALL ($3::bigint[])',
      [tenantId, attachmentId, remainingIds],
    );
  }

  /** Writes down how many fragments the documents have now. */
  async recount(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.database.query(
      `UPDATE attachment SET fragment_count =
              (SELECT count(*) FROM fragment WHERE tenant_id = $1 AND attachment_id = attachment.id)
        WHERE tenant_id = $1 AND id = ANY ($2::bigint[])`,
      [tenantId, attachmentIds],
    );
  }

  /** Number of fragments of the documents that users edited. */
  async countEdited(tenantId: string, attachmentIds: readonly number[]): Promise<number> {
    return this.fragments.count(tenantId, {
      attachmentId: Any([...attachmentIds]),
      edited: true,
    });
  }

  /** Index behind the last fragment; equal to it if that is the largest possible number. */
  private async nextIdx(tenantId: string, attachmentId: number): Promise<number> {
    const [row] = await this.database.query<{ next: number }>(
      `SELECT least(coalesce(max(idx)::bigint + 1, 0), 2147483647) AS next FROM fragment
        WHERE tenant_id = $1 AND attachment_id = $2`,
      [tenantId, attachmentId],
    );
    return row?.next ?? 0;
  }

  private async insertBatch(
    { tenantId, knowledgeId, attachmentId, docId }: DocumentScope,
    batch: readonly NewFragment[],
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO fragment (tenant_id, knowledge_id, attachment_id, doc_id, id, fid, idx, content, page, headings,
                             location, char_start, char_end, language, term_count, context)
       SELECT $1, $2::bigint, $3::bigint, $4, new.*
         FROM unnest($5::bigint[], $6::text[], $7::integer[], $8::text[], $9::integer[], $10::text[], $11::text[],
                     $12::integer[], $13::integer[], $14::text[], $15::integer[],
                     $16::text[]) AS new`,
      [
        tenantId,
        knowledgeId,
        attachmentId,
        docId,
        batch.map(({ id }) => id),
        batch.map(() => randomName()),
        batch.map(({ idx }) => idx),
        batch.map(({ content }) => content),
        batch.map(({ page }) => page ?? null),
        batch.map(({ headings }) => headingsText(headings)),
        batch.map(({ location }) => location?.slice(0, LOCATION) ?? null),
        batch.map(({ start }) => start),
        batch.map(({ end }) => end),
        batch.map(({ analysed }) => analysed.language),
        batch.map(({ analysed }) => analysed.termCount),
        batch.map(({ context }) => context ?? null),
      ],
    );
  }
}

function headingsText(headings: readonly string[]): string | null {
  return headings.length === 0 ? null : headings.join(HEADING_SEPARATOR).slice(0, HEADINGS);
}

/** The condition of fragments whose documents are not hidden from the caller. */
function ofReadable(caller: Caller): { attachmentId?: FindOperator<number> } {
  const { id: attachmentId } = readableDocuments(caller);
  return attachmentId ? { attachmentId } : {};
}

/** A document of a knowledge base, as far as readers of its text need it. */
export interface DocumentInfo {
  readonly attachmentId: number;
  readonly knowledgeId: number;
  readonly docId: string;
  readonly name: string;
  /** Parsed fragments; 0 before the first parsing has ended. */
  readonly fragmentCount: number;
}

/** Search for documents by a text that names them. */
export interface DocumentSearch {
  readonly text: string;
  /** Condition on the metadata of the documents. */
  readonly filter: MetadataFilter | undefined;
  readonly limit: number;
}

/** A fragment in the order of its document. */
export interface DocumentFragment {
  readonly fid: string;
  readonly docId: string;
  readonly knowledgeId: number;
  readonly idx: number;
  readonly content: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  readonly sourceName: string;
}

/** Inclusive limits; an absent one admits everything. Pages include the fragment that may reach into the first one. */
export interface FragmentRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly fromPage?: number | undefined;
  readonly toPage?: number | undefined;
}

const FIND = `SELECT id AS "attachmentId", knowledge_id AS "knowledgeId", doc_id AS "docId", name,
       fragment_count AS "fragmentCount",
       CASE WHEN doc_id = $3 THEN 0 WHEN name = $3 THEN 1 WHEN lower(name) = lower($3) THEN 2 ELSE 3 END AS fit
  FROM attachment
 WHERE tenant_id = $1 AND knowledge_id = ANY ($2::bigint[])
   AND (doc_id = $3 OR position(lower($3) IN lower(name)) > 0)
   AND ($5::jsonpath IS NULL OR metadata @@ $5::jsonpath)
   AND (knowledge_id = ANY ($7::bigint[]) OR ${readableDocument('attachment', { tenant: '$1', subjects: '$6' })})
 ORDER BY fit, id LIMIT $4`;

/**
 * The fragments of documents with the page on which the next one begins. A fragment may reach as far: the page of a
 * fragment is that of its first character.
 */
const PLACED = `SELECT id, knowledge_id, attachment_id, doc_id, fid, idx, content, page, headings, location,
         lead(page) OVER (PARTITION BY attachment_id ORDER BY idx, id) AS next_page
    FROM fragment WHERE tenant_id = $1`;

const onPages = (from: string, to: string): string =>
  `(${from}::integer IS NULL OR (page IS NOT NULL AND coalesce(next_page, ${from}) >= ${from}))
   AND (${to}::integer IS NULL OR page <= ${to})`;

const READ = `SELECT f.fid, f.doc_id AS "docId", f.knowledge_id AS "knowledgeId", f.idx, f.content, f.page,
       f.headings, f.location, a.name AS "sourceName"
  FROM (${PLACED} AND knowledge_id = $2 AND attachment_id = $3) f
  JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = $1
 WHERE ($4::integer IS NULL OR f.idx >= $4) AND ($5::integer IS NULL OR f.idx <= $5) AND ${onPages('$6', '$7')}
 ORDER BY f.idx, f.id LIMIT $8`;

const EXTENT = `SELECT max(idx) AS "lastIdx", max(page) AS "lastPage" FROM fragment
 WHERE tenant_id = $1 AND knowledge_id = $2 AND attachment_id = $3`;

const IDS = `SELECT id, knowledge_id AS "knowledgeId" FROM (${PLACED} AND attachment_id = ANY ($2::bigint[])) f
 WHERE ${onPages('$3', '$4')} LIMIT $5`;

/** Reads documents of knowledge bases as text. The right to read the bases must be checked before. */
@Injectable()
export class DocumentRepository {
  constructor(private readonly database: Database) {}

  /**
   * The readable documents of the bases that a text names, at most so many: the one with that docId, else those with that
   * name, else those whose name contains it.
   */
  async find(
    caller: DocumentReader,
    bases: readonly ReachedBase[],
    { text, filter, limit }: DocumentSearch,
  ): Promise<DocumentInfo[]> {
    const rows = await this.database.query<DocumentInfo & { fit: number }>(FIND, [
      caller.tenantId,
      bases.map(({ id }) => id),
      text,
      limit,
      filter ? jsonPathOf(filter) : null,
      comparedSubjects(caller),
      bases.filter(({ passedOn }) => passedOn).map(({ id }) => id),
    ]);
    return rows.filter(({ fit }) => fit === rows[0]?.fit).map(({ fit: _, ...row }) => row);
  }

  /** The first fragments of the range, in the order of the document. */
  async read(
    tenantId: string,
    { knowledgeId, attachmentId }: DocumentInfo,
    { from, to, fromPage, toPage }: FragmentRange,
    limit: number,
  ): Promise<DocumentFragment[]> {
    return this.database.query<DocumentFragment>(READ, [
      tenantId,
      knowledgeId,
      attachmentId,
      from ?? null,
      to ?? null,
      fromPage ?? null,
      toPage ?? null,
      limit,
    ]);
  }

  /** Fragment ids of documents, by knowledge base, up to a total limit. */
  async fragmentIds(
    tenantId: string,
    documents: readonly DocumentInfo[],
    { fromPage, toPage }: Pick<FragmentRange, 'fromPage' | 'toPage'>,
    limit: number,
  ): Promise<ReadonlyMap<number, readonly number[]>> {
    const rows = await this.database.query<{ id: number; knowledgeId: number }>(IDS, [
      tenantId,
      documents.map(({ attachmentId }) => attachmentId),
      fromPage ?? null,
      toPage ?? null,
      limit,
    ]);
    const byBase = new Map<number, number[]>();
    for (const { id, knowledgeId } of rows) {
      const ids = byBase.get(knowledgeId);
      if (ids) ids.push(id);
      else byBase.set(knowledgeId, [id]);
    }
    return byBase;
  }

  /** The last index and page of the document; null where it has none. */
  async extent(
    tenantId: string,
    { knowledgeId, attachmentId }: DocumentInfo,
  ): Promise<{ readonly lastIdx: number | null; readonly lastPage: number | null }> {
    const [row] = await this.database.query<{ lastIdx: number | null; lastPage: number | null }>(
      EXTENT,
      [tenantId, knowledgeId, attachmentId],
    );
    return row ?? { lastIdx: null, lastPage: null };
  }
}
