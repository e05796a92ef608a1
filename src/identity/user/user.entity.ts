import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

@Entity({ name: 'user_account' })
export class User {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  /** Unique in the tenant, whatever the case of its letters. */
  @Column({ type: 'varchar', length: 64 })
  userName: string;

  @Column({ type: 'varchar', length: 64 })
  nickName: string;

  @Column({ type: 'varchar', length: 10 })
  userType: string;

  @Column({ type: 'varchar', length: 100, nullable: true })
  email: string | null;

  @Column({ type: 'varchar', length: 20, nullable: true })
  phonenumber: string | null;

  @Column({ type: 'char', length: 1 })
  sex: string;

  @Column({ type: 'bigint', nullable: true })
  avatar: number | null;

  @Column({ type: 'varchar', length: 255 })
  passwordHash: string;

  @Column({ type: 'char', length: 1 })
  status: string;

  @Column({ type: 'varchar', length: 64, nullable: true })
  loginIp: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  loginDate: Date | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
