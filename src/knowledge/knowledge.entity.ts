import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** A knowledge base: the settings by which its attachments are split, embedded and searched. */
@Entity({ name: 'knowledge_base' })
export class KnowledgeBase {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  /** The owner; null when the user was deleted. */
  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  @Column({ type: 'varchar', length: 50 })
  name: string;

  /** 1: every user of the tenant may read it. */
  @Column({ type: 'smallint', default: 0 })
  share: number;

  @Column({ type: 'varchar', length: 1000, nullable: true })
  description: string | null;

  /** As entered; the two characters \n mean a line feed. */
  @Column({ type: 'varchar', length: 255, nullable: true })
  separator: string | null;

  @Column({ type: 'integer', default: 50 })
  overlapChar: number;

  @Column({ type: 'integer', default: 1000 })
  textBlockSize: number;

  @Column({ type: 'integer', default: 10 })
  retrieveLimit: number;

  @Column({ type: 'double precision', default: () => '0.5' })
  similarityThreshold: number;

  /** Code of the vector store as entered (docs/WIRE.md, Knowledge bases). */
  @Column({ type: 'varchar', length: 50, default: '' })
  vectorModel: string;

  /** modelName of a model of category vector. */
  @Column({ type: 'varchar', length: 200, default: '' })
  embeddingModel: string;

  @Column({ type: 'smallint', default: 0 })
  enableHybrid: number;

  /** Weight of the keyword channel, 0 to 1. */
  @Column({ type: 'double precision', default: () => '0.5' })
  hybridAlpha: number;

  @Column({ type: 'smallint', default: 0 })
  enableRerank: number;

  @Column({ type: 'varchar', length: 200, nullable: true })
  rerankModel: string | null;

  @Column({ type: 'integer', nullable: true })
  rerankTopN: number | null;

  @Column({ type: 'double precision', nullable: true })
  rerankScoreThreshold: number | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
