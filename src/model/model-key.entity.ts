import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
} from '../platform/database/index.js';

/** A key of a model beside the one in its own record. */
@Entity({ name: 'model_key' })
export class ModelKey {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() modelId: number;
  @Varchar(100) label: string;

  /** The credential, sealed by the vault. */
  @Text() credential: string;
  /** The share of calls that use this key. */
  @Integer() weight: number;
  @Flag() enabled: boolean;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
