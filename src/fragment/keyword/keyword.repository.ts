import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';

export interface KnowledgeScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
}

export interface AttachmentScope extends KnowledgeScope {
  readonly attachmentId: number;
}

/** A word, and the PostgreSQL dictionary that knows its stem. */
export interface StemRequest {
  readonly dictionary: string;
  readonly word: string;
}

/** Statistics of a base that a search needs before it looks up terms. */
export interface BaseStatistics {
  readonly fragments: number;
  readonly terms: number;
  readonly languages: readonly string[];
}

export interface TermPostings {
  readonly term: string;
  readonly postings: Buffer;
}

export interface BlockSize {
  readonly fragments: number;
  readonly terms: number;
}

export interface BlockChange extends BlockSize {
  /** Languages to add. */
  readonly languages: readonly string[];
}

export interface DocumentRow {
  readonly blockId: number;
  /** The terms of each fragment, separated by spaces, by the fragment's id. */
  readonly fragments: Record<string, string>;
  /** Languages of its fragments, possibly more; null if it was indexed before this was stored. */
  readonly languages: readonly string[] | null;
}

/** Rows of one INSERT. */
const BATCH = 5_000;

/** Documents that vote for the language of their base. */
const VOTERS = 200;

const GROWTH = `fragments = fragments + $2::integer, terms = terms + $3::bigint,
  languages = ARRAY(SELECT DISTINCT unnest(languages || $4::text[]))`;

/**
 * The keyword index in the relational store; docs/decisions/0006-keyword-index.md explains its tables.
 *
 * Postings are looked up term by term behind OFFSET 0, and no plan of it is kept: without fresh statistics, which the
 * embedded store never has, PostgreSQL would read whole blocks for `term = ANY`, and a plan that was made for an empty
 * table would go on reading all of it.
 */
@Injectable()
export class KeywordRepository {
  constructor(private readonly database: Database) {}

  /** The stem of each word, '' for a stop word. */
  async stems(requests: readonly StemRequest[]): Promise<string[]> {
    const rows = await this.database.query<{ lexemes: string[] }>(
      `SELECT ts_lexize(asked.dictionary::regdictionary, asked.word) AS lexemes
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (dictionary, word, position)
        ORDER BY asked.position`,
      [requests.map(({ dictionary }) => dictionary), requests.map(({ word }) => word)],
    );
    return rows.map(({ lexemes }) => lexemes[0] ?? '');
  }

  async statistics({ tenantId, knowledgeId }: KnowledgeScope): Promise<BaseStatistics> {
    const rows = await this.database.query<BlockSize & { languages: string[] }>(
      `SELECT sum(fragments)::bigint AS fragments, sum(terms)::bigint AS terms, languages FROM keyword_block
        WHERE tenant_id = $1 AND knowledge_id = $2 GROUP BY languages`,
      [tenantId, knowledgeId],
    );
    return {
      fragments: rows.reduce((sum, row) => sum + row.fragments, 0),
      terms: rows.reduce((sum, row) => sum + row.terms, 0),
      languages: [...new Set(rows.flatMap(({ languages }) => languages))].sort(),
    };
  }

  /** All postings of those of the terms that the base has, by the index over the terms of a base. */
  async find(
    { tenantId, knowledgeId }: KnowledgeScope,
    terms: readonly string[],
  ): Promise<TermPostings[]> {
    return this.database.query<TermPostings>(
      `SELECT asked.term, string_agg(found.postings, '') AS postings
         FROM unnest($3::text[]) AS asked (term)
        CROSS JOIN LATERAL (
          SELECT postings FROM keyword_posting
           WHERE tenant_id = $1 AND knowledge_id = $2 AND term = asked.term
          OFFSET 0
        ) found
        GROUP BY asked.term`,
      [tenantId, knowledgeId, terms],
    );
  }

  /** Up to `limit` fragments of the documents. Their own table has them without the terms, which are long. */
  async fragmentsOf(
    { tenantId, knowledgeId }: KnowledgeScope,
    attachmentIds: readonly number[],
    limit: number,
  ): Promise<number[]> {
    const [row] = await this.database.query<{ ids: string | null }>(
      // One text, because a row for each of many ids takes longer than the lookup.
      `SELECT string_agg(id::text, ' ') AS ids
         FROM (SELECT id FROM fragment
                WHERE tenant_id = $1 AND knowledge_id = $2 AND attachment_id = ANY ($3::bigint[])
                LIMIT $4) found`,
      [tenantId, knowledgeId, attachmentIds, limit],
    );
    return row?.ids?.split(' ').map(Number) ?? [];
  }

  /** Those of the fragments that the documents have. */
  async fragmentsIn(
    { tenantId, knowledgeId }: KnowledgeScope,
    attachmentIds: readonly number[],
    fragmentIds: readonly number[],
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM fragment
        WHERE tenant_id = $1 AND knowledge_id = $2 AND id = ANY ($3::bigint[])
          AND attachment_id = ANY ($4::bigint[])`,
      [tenantId, knowledgeId, fragmentIds, attachmentIds],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Location of the document, locked until the end of the transaction. Its own row is locked first, in a separate
   * statement: a document without index rows has no other row to serialise on, and the next statement must see what the
   * previous transaction committed.
   */
  async holdDocument({
    tenantId,
    attachmentId,
  }: AttachmentScope): Promise<DocumentRow | undefined> {
    await this.database.query(
      'SELECT id FROM attachment WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
      [tenantId, attachmentId],
    );
    const [row] = await this.database.query<DocumentRow>(
      `SELECT block_id AS "blockId", fragments, languages FROM keyword_document
        WHERE tenant_id = $1 AND attachment_id = $2 FOR UPDATE`,
      [tenantId, attachmentId],
    );
    return row;
  }

  /** The blocks in which documents are that are held, in an order that all have; held until the end of the transaction. */
  async holdBlocksOf(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.database.query(
      `SELECT id FROM keyword_block
        WHERE tenant_id = $1 AND id IN
              (SELECT block_id FROM keyword_document
                WHERE tenant_id = $1 AND attachment_id = ANY ($2::bigint[]))
        ORDER BY id FOR UPDATE`,
      [tenantId, attachmentIds],
    );
  }

  /** The block, held until the end of the transaction. */
  async holdBlock(tenantId: string, blockId: number): Promise<BlockSize> {
    const [row] = await this.database.query<BlockSize>(
      'SELECT fragments, terms FROM keyword_block WHERE tenant_id = $1 AND id = $2 FOR UPDATE',
      [tenantId, blockId],
    );
    if (!row) throw new Error(`There is no block ${blockId} in the keyword index.`);
    return row;
  }

  /**
   * Adds to the size of a block of the base that has room for it and that no other transaction is changing, or of a new
   * one. Returns its id; it is locked until the end of the transaction.
   */
  async takeBlock(
    { tenantId, knowledgeId }: KnowledgeScope,
    { fragments, terms, languages }: BlockChange,
    capacity: number,
  ): Promise<number> {
    const [free] = await this.database.query<{ id: number }>(
      `UPDATE keyword_block SET ${GROWTH}
        WHERE tenant_id = $1 AND id =
              (SELECT id FROM keyword_block
                WHERE tenant_id = $1 AND knowledge_id = $5 AND fragments + $2::integer <= $6
                ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [tenantId, fragments, terms, languages, knowledgeId, capacity],
    );
    if (free) return free.id;
    const [made] = await this.database.query<{ id: number }>(
      `INSERT INTO keyword_block (tenant_id, knowledge_id, fragments, terms, languages)
       VALUES ($1, $2, $3, $4, $5) RETURNING id`,
      [tenantId, knowledgeId, fragments, terms, languages],
    );
    if (!made) throw new Error('The keyword index has made no block.');
    return made.id;
  }

  /** Updates the size of a block that is locked. */
  async resizeBlock(
    tenantId: string,
    blockId: number,
    { fragments, terms, languages }: BlockChange,
  ): Promise<void> {
    await this.database.query(
      `UPDATE keyword_block SET ${GROWTH} WHERE tenant_id = $1 AND id = $5`,
      [tenantId, fragments, terms, languages, blockId],
    );
  }

  /** Deletes a block with its postings and documents. */
  async removeBlock(tenantId: string, blockId: number): Promise<void> {
    await this.database.query('DELETE FROM keyword_block WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      blockId,
    ]);
  }

  /** Postings of a block that is locked. */
  async postings(
    tenantId: string,
    blockId: number,
    terms: readonly string[],
  ): Promise<TermPostings[]> {
    return this.database.query<TermPostings>(
      `SELECT asked.term, found.postings FROM unnest($3::text[]) AS asked (term)
        CROSS JOIN LATERAL (
          SELECT postings FROM keyword_posting
           WHERE tenant_id = $1 AND block_id = $2 AND term = asked.term
          OFFSET 0
        ) found`,
      [tenantId, blockId, terms],
    );
  }

  /** Adds postings to those that the block has of the same terms. */
  async append(
    scope: KnowledgeScope,
    blockId: number,
    added: readonly TermPostings[],
  ): Promise<void> {
    await this.upsert('posting.postings || excluded.postings', scope, blockId, added);
  }

  /** Puts postings in the place of those that the block has of the same terms. */
  async replace(
    scope: KnowledgeScope,
    blockId: number,
    changed: readonly TermPostings[],
  ): Promise<void> {
    await this.upsert('excluded.postings', scope, blockId, changed);
  }

  /** Removes postings of a block that is locked, so that the rows do not move during the lookup. */
  async removePostings(tenantId: string, blockId: number, terms: readonly string[]): Promise<void> {
    if (terms.length === 0) return;
    await this.database.query(
      `DELETE FROM keyword_posting WHERE tenant_id = $1 AND ctid = ANY (ARRAY(
         SELECT found.ctid FROM unnest($3::text[]) AS asked (term)
          CROSS JOIN LATERAL (
            SELECT ctid FROM keyword_posting
             WHERE tenant_id = $1 AND block_id = $2 AND term = asked.term
            OFFSET 0
          ) found))`,
      [tenantId, blockId, terms],
    );
  }

  async saveDocument(
    { tenantId, knowledgeId, attachmentId }: AttachmentScope,
    { blockId, fragments, languages }: DocumentRow,
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO keyword_document (tenant_id, knowledge_id, attachment_id, block_id, fragments, languages)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [tenantId, knowledgeId, attachmentId, blockId, JSON.stringify(fragments), languages],
    );
  }

  async changeDocument(
    { tenantId, attachmentId }: AttachmentScope,
    { fragments, languages }: Pick<DocumentRow, 'fragments' | 'languages'>,
  ): Promise<void> {
    await this.database.query(
      `UPDATE keyword_document SET fragments = $3, languages = $4
        WHERE tenant_id = $1 AND attachment_id = $2`,
      [tenantId, attachmentId, JSON.stringify(fragments), languages],
    );
  }

  /**
   * Leaves a block that is held only the languages of its documents, so that questions are stemmed in no other; no
   * change where those of a document are not known.
   */
  async recountLanguages(
    { tenantId, knowledgeId }: KnowledgeScope,
    blockId: number,
  ): Promise<void> {
    await this.database.query(
      `UPDATE keyword_block block SET languages = found.languages
         FROM (SELECT array_agg(DISTINCT language) FILTER (WHERE language IS NOT NULL) AS languages,
                      bool_and(document.languages IS NOT NULL) AS known
                 FROM keyword_document document
                 LEFT JOIN LATERAL unnest(document.languages) AS language ON true
                WHERE document.tenant_id = $1 AND document.knowledge_id = $3
                  AND document.block_id = $2) found
        WHERE block.tenant_id = $1 AND block.id = $2
          AND found.known AND found.languages IS NOT NULL AND found.languages <> block.languages`,
      [tenantId, blockId, knowledgeId],
    );
  }

  /**
   * Number of documents of the base per language, among up to 200; the given document weighs as much as all of them.
   */
  async documentLanguages({
    tenantId,
    knowledgeId,
    attachmentId = null,
  }: KnowledgeScope & { readonly attachmentId?: number | null }): Promise<Map<string, number>> {
    const rows = await this.database.query<{ language: string; count: number }>(
      `SELECT language, sum(weight)::integer AS count
         FROM ((SELECT languages, 1 AS weight FROM keyword_document
                 WHERE tenant_id = $1 AND knowledge_id = $2 LIMIT $4)
               UNION ALL
               (SELECT languages, $4 FROM keyword_document
                 WHERE tenant_id = $1 AND knowledge_id = $2 AND attachment_id = $3)) document
        CROSS JOIN LATERAL unnest(document.languages) AS language
        GROUP BY language`,
      [tenantId, knowledgeId, attachmentId, VOTERS],
    );
    return new Map(rows.map(({ language, count }) => [language, count]));
  }

  async removeDocument({ tenantId, attachmentId }: AttachmentScope): Promise<void> {
    await this.database.query(
      'DELETE FROM keyword_document WHERE tenant_id = $1 AND attachment_id = $2',
      [tenantId, attachmentId],
    );
  }

  private async upsert(
    postings: 'excluded.postings' | 'posting.postings || excluded.postings',
    { tenantId, knowledgeId }: KnowledgeScope,
    blockId: number,
    rows: readonly TermPostings[],
  ): Promise<void> {
    for (let start = 0; start < rows.length; start += BATCH) {
      const batch = rows.slice(start, start + BATCH);
      await this.database.query(
        `INSERT INTO keyword_posting AS posting (tenant_id, knowledge_id, block_id, term, postings)
         SELECT $1, $2::bigint, $3::bigint, given.term, given.postings
           FROM unnest($4::text[], $5::bytea[]) AS given (term, postings)
         ON CONFLICT (tenant_id, block_id, term) DO UPDATE SET postings = ${postings}`,
        [
          tenantId,
          knowledgeId,
          blockId,
          batch.map(({ term }) => term),
          batch.map((row) => row.postings),
        ],
      );
    }
  }
}
