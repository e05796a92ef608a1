import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A skill as it was when the run began. */
@Entity({ name: 'harness_skill' })
export class HarnessSkill {
  @PrimaryColumn({ type: 'uuid' })
  runId: string;

  @PrimaryColumn({ type: 'integer' })
  position: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 64 })
  name: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ type: 'varchar', length: 100 })
  source: string;

  @Column({ type: 'varchar', length: 4096 })
  base: string;

  @Column({ type: 'varchar', length: 4096 })
  path: string;

  @Column({ type: 'char', length: 64 })
  sha256: string;

  @Column({ type: 'text' })
  body: string;
}
