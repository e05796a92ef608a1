import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** A list of choices, such as the categories of models. */
@Entity({ name: 'dictionary_type' })
export class DictionaryType {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 100 })
  dictName: string;

  @Column({ type: 'varchar', length: 100 })
  dictType: string;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** One choice: the label is shown, the value is stored by other records. */
@Entity({ name: 'dictionary_entry' })
export class DictionaryEntry {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 100 })
  dictType: string;

  @Column({ type: 'varchar', length: 100 })
  dictLabel: string;

  @Column({ type: 'varchar', length: 100 })
  dictValue: string;

  @Column({ type: 'integer' })
  dictSort: number;

  @Column({ type: 'varchar', length: 100, nullable: true })
  cssClass: string | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  listClass: string | null;

  @Column({ type: 'char', length: 1 })
  isDefault: string;

  /** Plinth uses the value: it cannot change, label and order can. */
  @Column({ type: 'boolean' })
  seeded: boolean;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
