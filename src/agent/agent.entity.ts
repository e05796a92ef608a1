import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** An agent: a chat model with a prompt, knowledge bases, skills and generation parameters. */
@Entity({ name: 'agent' })
export class Agent {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  @Column({ type: 'varchar', length: 200 })
  agentName: string;

  @Column({ type: 'varchar', length: 500, nullable: true })
  agentDescribe: string | null;

  @Column({ type: 'varchar', length: 255, nullable: true })
  agentShow: string | null;

  @Column({ type: 'bigint' })
  modelId: number;

  /** '0' or '1', as clients compare it. */
  @Column({ type: 'char', length: 1, default: '0' })
  enableThinking: string;

  @Column({ type: 'text', nullable: true })
  systemPrompt: string | null;

  @Column({ type: 'jsonb', default: [] })
  mcpToolIds: number[];

  @Column({ type: 'jsonb', default: [] })
  skillNames: string[];

  @Column({ type: 'jsonb', default: [] })
  knowledgeIds: number[];

  @Column({ type: 'double precision', nullable: true })
  temperature: number | null;

  @Column({ type: 'double precision', nullable: true })
  topP: number | null;

  @Column({ type: 'integer', nullable: true })
  maxTokens: number | null;

  /** '0' normal, '1' disabled. */
  @Column({ type: 'char', length: 1, default: '0' })
  status: string;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
