import { Entity } from 'typeorm';
import {
  CreateTime,
  GeneratedId,
  Integer,
  nullable,
  Numeric,
  Revision,
  Smallint,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
} from '../platform/database/index.js';
import type { SearchCode } from './search.adapters.js';

export const SEARCH_ENABLED = 0;
const SEARCH_DISABLED = 1;

/** A service that searches the web, as a tenant has configured it. */
@Entity({ name: 'search_provider' })
export class SearchProvider {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) name: string;
  @Varchar(20) code: SearchCode;
  @Varchar(500) address: string;
  /** Encrypted, and bound to the address. */
  @Text(nullable) apiKey: string | null;
  /** The price of one search in the currency of the installation; null: unknown. */
  @Numeric({ precision: 20, scale: 6, nullable: true }) price: number | null;
  /** 0 enabled, 1 disabled. */
  @Smallint({ default: SEARCH_DISABLED }) status: number;
  @Integer({ default: 0 }) sortOrder: number;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}
