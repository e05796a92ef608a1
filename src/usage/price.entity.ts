import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  Numeric,
  TenantId,
  Varchar,
} from '../platform/database/index.js';

/** The range of numeric(14, 6). */
export const MIN_AMOUNT = 0.000_001;
export const MAX_PRICE = 99_999_999;

const price = { precision: 14, scale: 6, nullable: true } as const;

/** The prices of a model from one change to the next. Rows are never changed: recorded calls name theirs. */
@Entity({ name: 'model_price' })
export class ModelPrice {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() modelId: number;
  @Varchar(200) modelName: string;
  @Numeric(price) inputPrice: number | null;
  @Numeric(price) outputPrice: number | null;
  @Numeric(price) cachedInputPrice: number | null;
  @Numeric(price) imagePrice: number | null;
  @Numeric(price) secondPrice: number | null;
  @Numeric(price) characterPrice: number | null;
  /** The fraction of the price for batched calls; null: 1. */
  @Numeric({ precision: 4, scale: 3, nullable: true }) batchPriceFactor: number | null;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
}
