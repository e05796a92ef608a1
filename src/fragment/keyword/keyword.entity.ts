import { Entity } from 'typeorm';
import {
  Bigint,
  Bytea,
  GeneratedId,
  Integer,
  Json,
  TenantId,
  Text,
  primary,
} from '../../platform/database/index.js';

/**
 * Fragments of one or more documents of a base whose postings are packed together, so that a search reads few rows.
 * A transaction that changes its postings locks its row.
 */
@Entity({ name: 'keyword_block' })
export class KeywordBlock {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;
  @Integer() fragments: number;

  /** Number of terms of all its fragments, including repetitions. */
  @Bigint() terms: number;

  /** Languages of its fragments; may contain more. */
  @Text({ array: true }) languages: string[];
}

/** Packed postings of one term in one block (bm25.ts). */
@Entity({ name: 'keyword_posting' })
export class KeywordPosting {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) blockId: number;
  @Text({ primary: true, collation: 'C' }) term: string;
  @Bigint() knowledgeId: number;
  @Bytea() postings: Buffer;
}

/** Location of the postings of a document, needed to remove them. */
@Entity({ name: 'keyword_document' })
export class KeywordDocument {
  @Bigint(primary) attachmentId: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;
  @Bigint() blockId: number;

  /** The terms of each fragment, separated by spaces, by the fragment's id. */
  @Json() fragments: Record<string, string>;

  /** Languages of its fragments, possibly more; null if it was indexed before this was stored. */
  @Text({ array: true, nullable: true }) languages: string[] | null;
}
