import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** The role of those who administer the whole installation; it exists in the home tenant only. */
export const SUPERADMIN_ROLE = 'superadmin';
/** The role of a tenant's own administrators. */
export const ADMIN_ROLE = 'admin';
/** The role that people who register get. */
export const USER_ROLE = 'user';

@Entity({ name: 'role' })
export class Role {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 100 })
  roleName: string;

  @Column({ type: 'varchar', length: 100 })
  roleKey: string;

  @Column({ type: 'integer' })
  roleSort: number;

  @Column({ type: 'char', length: 1 })
  status: string;

  @Column({ type: 'text', array: true })
  permissions: string[];

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** That a user has a role. */
@Entity({ name: 'user_role' })
export class UserRole {
  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @PrimaryColumn({ type: 'bigint' })
  userId: number;

  @PrimaryColumn({ type: 'bigint' })
  roleId: number;
}
