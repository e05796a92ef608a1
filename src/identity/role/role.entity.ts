import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** The tenant of the installation itself: it always exists, never expires and cannot be disabled. */
export const HOME_TENANT = '000000';

/** The role of administrators of the whole installation. Exists in the home tenant only. */
export const SUPERADMIN_ROLE = 'superadmin';
/** The role of the administrators of a tenant. */
export const ADMIN_ROLE = 'admin';
/** The role of users who have registered themselves. */
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

/** Assigns a role to a user. */
@Entity({ name: 'user_role' })
export class UserRole {
  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @PrimaryColumn({ type: 'bigint' })
  userId: number;

  @PrimaryColumn({ type: 'bigint' })
  roleId: number;
}
