import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** One piece of an attachment's text: what is embedded, indexed and found. Replaced as a set at each parse. */
@Entity({ name: 'fragment' })
export class Fragment {
  /** Also the key of its vector, so it is taken from the sequence before the row is written. */
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  @Column({ type: 'bigint' })
  attachmentId: number;

  @Column({ type: 'varchar', length: 32 })
  docId: string;

  /** Random; names the fragment to clients. */
  @Column({ type: 'varchar', length: 32 })
  fid: string;

  /** Running number in the document, from 0. */
  @Column({ type: 'integer' })
  idx: number;

  @Column({ type: 'text' })
  content: string;

  /** Page of its first character, from 1. */
  @Column({ type: 'integer', nullable: true })
  page: number | null;

  /** The headings above it, outermost first, joined by " > ". */
  @Column({ type: 'varchar', length: 1000, nullable: true })
  headings: string | null;

  /** Lines or cells, such as "lines 10-42" or "Sheet1!A2:F20". */
  @Column({ type: 'varchar', length: 200, nullable: true })
  location: string | null;

  /** Where it lies in the document's extracted text, in UTF-16 code units; the end is exclusive. */
  @Column({ type: 'integer', nullable: true })
  charStart: number | null;

  @Column({ type: 'integer', nullable: true })
  charEnd: number | null;

  /** The PostgreSQL text search configuration its words were stemmed by; `simple` where none fits. */
  @Column({ type: 'varchar', length: 20 })
  language: string;

  /** How many terms the keyword index holds of it, repetitions included. */
  @Column({ type: 'integer' })
  termCount: number;

  /** The text was changed by hand and is no longer what its vector was made from. */
  @Column({ type: 'boolean', default: false })
  edited: boolean;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
