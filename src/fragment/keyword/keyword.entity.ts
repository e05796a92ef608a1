import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/**
 * Fragments of one or more documents of a base whose postings are packed together, so that a search reads few rows.
 * A transaction that changes its postings locks its row.
 */
@Entity({ name: 'keyword_block' })
export class KeywordBlock {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  @Column({ type: 'integer' })
  fragments: number;

  /** Of all its fragments, repetitions included. */
  @Column({ type: 'bigint' })
  terms: number;

  /** At least those of its fragments. */
  @Column({ type: 'text', array: true })
  languages: string[];
}

/** Which fragments of a block have a term; postings.ts packs them. */
@Entity({ name: 'keyword_posting' })
export class KeywordPosting {
  @PrimaryColumn({ type: 'varchar', length: 20 })
  tenantId: string;

  @PrimaryColumn({ type: 'bigint' })
  blockId: number;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  term: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  @Column({ type: 'bytea' })
  postings: Buffer;
}

/** Where the postings of a document are: what has to be known to take them out again. */
@Entity({ name: 'keyword_document' })
export class KeywordDocument {
  @PrimaryColumn({ type: 'bigint' })
  attachmentId: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  @Column({ type: 'bigint' })
  blockId: number;

  /** The terms of each fragment, separated by spaces, by the fragment's id. */
  @Column({ type: 'json' })
  fragments: Record<string, string>;
}
