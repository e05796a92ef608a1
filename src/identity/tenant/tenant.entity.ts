import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import { HOME_TENANT } from '../role/role.entity.js';

@Entity({ name: 'tenant' })
export class Tenant {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 100 })
  companyName: string;

  @Column({ type: 'varchar', length: 50, nullable: true })
  contactUserName: string | null;

  @Column({ type: 'varchar', length: 30, nullable: true })
  contactPhone: string | null;

  @Column({ type: 'varchar', length: 50, nullable: true })
  licenseNumber: string | null;

  @Column({ type: 'varchar', length: 200, nullable: true })
  address: string | null;

  @Column({ type: 'varchar', length: 200, nullable: true })
  domain: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  intro: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  expireTime: Date | null;

  /** Limit of users; -1 for none. */
  @Column({ type: 'integer' })
  accountCount: number;

  @Column({ type: 'char', length: 1 })
  status: string;

  /** Whether people may register. */
  @Column({ type: 'boolean' })
  registerEnabled: boolean;

  @Column({ type: 'bigint', insert: false, update: false })
  revision: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** Why users of the tenant cannot sign in, or undefined if they can. */
export function tenantProblem(tenant: Tenant, now: Date): string | undefined {
  if (tenant.tenantId === HOME_TENANT) return undefined;
  if (tenant.status !== '0') return 'This tenant is disabled. Ask the operator of this service.';
  if (tenant.expireTime && tenant.expireTime <= now) {
    return 'This tenant has expired. Ask the operator of this service to extend it.';
  }
  return undefined;
}
