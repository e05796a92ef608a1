import { DeleteDateColumn, Entity } from 'typeorm';
import {
  CreateTime,
  GeneratedId,
  Integer,
  Smallint,
  Revision,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** A model service as a tenant has configured it. A deleted one stays as a row, and its code is free again. */
@Entity({ name: 'provider' })
export class Provider {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) providerName: string;
  @Varchar(50) providerCode: string;
  @Text(nullable) providerIcon: string | null;
  @Varchar(500, nullable) providerDesc: string | null;
  @Varchar(500, nullable) apiHost: string | null;
  @Varchar(40, nullable) protocolVersion: string | null;

  /** 0 enabled, 1 disabled. */
  @Smallint({ default: 0 }) status: number;
  @Integer({ default: 0 }) sortOrder: number;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
  @DeleteDateColumn({ type: 'timestamptz', nullable: true })
  deletedTime: Date | null;
}

export const PROVIDER_ENABLED = 0;
