import { Column, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

/** What an operator has switched for the whole installation. */
@Entity({ name: 'harness_switch' })
export class HarnessSwitch {
  @PrimaryColumn({ type: 'varchar', length: 40 })
  name: string;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'bigint', nullable: true })
  changedBy: number | null;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
