import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The whole of something of which the model saw a part: the output of a tool, an image of the requirement. */
@Entity({ name: 'harness_artifact' })
export class HarnessArtifact {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'varchar', length: 20 })
  kind: string;

  @Column({ type: 'varchar', length: 100 })
  mediaType: string;

  @Column({ type: 'bigint' })
  byteSize: number;

  @Column({ type: 'char', length: 64 })
  sha256: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
