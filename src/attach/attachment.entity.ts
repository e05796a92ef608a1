import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** Values of `status` on the wire. A cancelled document is failed, with that reason in `remark`. */
export const AttachmentStatus = { pending: 0, parsing: 1, parsed: 2, failed: 3 } as const;

/**
 * One uploaded file of a knowledge base. The row is the truth about its parsing: who requested it (parseRequested,
 * requestedBy), which worker runs it (the lease) and how it ended (status, remark).
 */
@Entity({ name: 'attachment' })
export class Attachment {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  /** Random; names the document to clients and never changes. */
  @Column({ type: 'varchar', length: 32 })
  docId: string;

  /** The stored file; null once it is removed by hand. */
  @Column({ type: 'bigint', nullable: true })
  ossId: number | null;

  /** SHA-256 of the content, lower-case hex. */
  @Column({ type: 'char', length: 64 })
  fileHash: string;

  @Column({ type: 'varchar', length: 500 })
  name: string;

  /** The suffix with its dot, such as `.pdf`. */
  @Column({ type: 'varchar', length: 50 })
  type: string;

  @Column({ type: 'bigint' })
  byteSize: number;

  /** The text encoding that was found, for files that are text. */
  @Column({ type: 'varchar', length: 40, nullable: true })
  encoding: string | null;

  @Column({ type: 'smallint', default: AttachmentStatus.pending })
  status: number;

  /** Why it failed. */
  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @Column({ type: 'integer', default: 0 })
  fragmentCount: number;

  /** Fragments embedded so far, of progressTotal. */
  @Column({ type: 'integer', default: 0 })
  progressDone: number;

  @Column({ type: 'integer', nullable: true })
  progressTotal: number | null;

  /** What the parsing waits for, such as a provider that asked to slow down. */
  @Column({ type: 'varchar', length: 200, nullable: true })
  waitingFor: string | null;

  /** Parsing was asked for and has not ended. Only such rows are swept. */
  @Column({ type: 'boolean', default: false })
  parseRequested: boolean;

  /** The user on whose behalf it is parsed; 0 for the service itself. */
  @Column({ type: 'bigint', nullable: true })
  requestedBy: number | null;

  /** The tenant of that user, who may be a super administrator acting in this one. */
  @Column({ type: 'varchar', length: 20, nullable: true })
  requestedHome: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  requestedAt: Date | null;

  /** Not before this time. */
  @Column({ type: 'timestamptz', nullable: true })
  dueAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  attempts: number;

  /** Only the worker with this token may write; one that has lost it stops. */
  @Column({ type: 'uuid', nullable: true })
  leaseToken: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  parsedAt: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** The vectors of one batch of a document whose parsing has not ended. */
@Entity({ name: 'embedded_batch' })
export class EmbeddedBatch {
  @PrimaryColumn({ type: 'bigint' })
  attachmentId: number;

  /** SHA-256 of the model and the texts. */
  @PrimaryColumn({ type: 'char', length: 64 })
  digest: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  /** Little-endian 32-bit floats, one vector after the other. */
  @Column({ type: 'bytea' })
  vectors: Buffer;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
