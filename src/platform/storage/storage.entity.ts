import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The record of an uploaded file; its content is in the FileStorage under the key. */
@Entity({ name: 'stored_file' })
export class StoredFile {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  @Column({ type: 'varchar', length: 200 })
  storageKey: string;

  @Column({ type: 'varchar', length: 255 })
  originalName: string;

  @Column({ type: 'varchar', length: 20 })
  fileSuffix: string;

  @Column({ type: 'varchar', length: 100 })
  mimeType: string;

  @Column({ type: 'bigint' })
  byteSize: number;

  @Column({ type: 'char', length: 64 })
  sha256: string;

  @Column({ type: 'varchar', length: 20 })
  service: string;

  /** The kind of record that the file is part of; null for an independent file. */
  @Column({ type: 'varchar', length: 30, nullable: true })
  belongsTo: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
