import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The one run that may change a workspace now. */
@Entity({ name: 'harness_workspace_lock' })
export class HarnessWorkspaceLock {
  @PrimaryColumn({ type: 'varchar', length: 4096 })
  workspace: string;

  @PrimaryColumn({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  fence: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
