import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** An application that may sign users in. Clients belong to the installation, not to a tenant. */
@Entity({ name: 'client' })
export class Client {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 64 })
  clientId: string;

  @Column({ type: 'varchar', length: 32 })
  clientKey: string;

  /** SHA-256 of the secret, in hex. */
  @Column({ type: 'varchar', length: 255 })
  clientSecret: string;

  /** Comma-separated grant types. */
  @Column({ type: 'varchar', length: 255 })
  grantType: string;

  @Column({ type: 'varchar', length: 32, nullable: true })
  deviceType: string | null;

  /** Seconds without a request after which a sign-in ends. */
  @Column({ type: 'integer' })
  activeTimeout: number;

  /** Seconds after which a sign-in ends in any case. */
  @Column({ type: 'integer' })
  timeout: number;

  @Column({ type: 'char', length: 1 })
  status: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
