import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Jsonb,
  nullable,
  Numeric,
  TenantId,
  Varchar,
} from '../platform/database/index.js';

/** The range of numeric(14, 6). */
export const MIN_AMOUNT = 0.000_001;
export const MAX_PRICE = 99_999_999;

const price = { precision: 14, scale: 6, nullable: true } as const;

/** Prices of calls that read more than `above` tokens. Absent ones are those below it; cache prices follow the input price. */
export interface ContextTier {
  readonly above: number;
  readonly inputPrice?: number;
  readonly outputPrice?: number;
  readonly cachedInputPrice?: number;
  readonly cacheWritePrice?: number;
  readonly cacheWriteHourPrice?: number;
}

/** What calls in a tier of the service cost, as a multiple of the prices. */
export interface ServiceTierFactor {
  readonly tier: string;
  readonly factor: number;
}

/** The prices of a model: columns of its record, and of each version of them. The database computes costs (call_cost). */
export abstract class Prices {
  /** Per million tokens, as all prices of tokens. */
  @Numeric(price) inputPrice: number | null;
  @Numeric(price) outputPrice: number | null;
  @Numeric(price) cachedInputPrice: number | null;
  @Numeric(price) cacheWritePrice: number | null;
  @Numeric(price) cacheWriteHourPrice: number | null;
  @Numeric(price) audioInputPrice: number | null;
  @Numeric(price) audioOutputPrice: number | null;
  @Numeric(price) imagePrice: number | null;
  @Numeric(price) secondPrice: number | null;
  @Numeric(price) characterPrice: number | null;
  /** Per call of a tool of the service. */
  @Numeric(price) webSearchPrice: number | null;
  @Numeric(price) codeRunPrice: number | null;
  /** The least that a call costs. */
  @Numeric(price) minimumPrice: number | null;
  /** The fraction of the price for batched calls; null: 1. */
  @Numeric({ precision: 4, scale: 3, nullable: true }) batchPriceFactor: number | null;
  @Jsonb({ default: [] }) contextTiers: ContextTier[];
  @Jsonb({ default: [] }) serviceTierFactors: ServiceTierFactor[];
  /** ISO 4217; null: that of the installation (CURRENCY). */
  @Varchar(3, nullable) currency: string | null;
  /** Where the prices are from. */
  @Varchar(500, nullable) priceSource: string | null;
}

/** Fields of Prices that are amounts: a model with one of them has prices. */
export const AMOUNTS = [
  ...(['inputPrice', 'outputPrice', 'cachedInputPrice', 'cacheWritePrice'] as const),
  ...(['cacheWriteHourPrice', 'audioInputPrice', 'audioOutputPrice', 'imagePrice'] as const),
  ...(['secondPrice', 'characterPrice', 'webSearchPrice', 'codeRunPrice', 'minimumPrice'] as const),
] as const satisfies readonly (keyof Prices)[];

/** All fields of Prices; a change of one begins a new version. */
export const PRICE_FIELDS = [
  ...AMOUNTS,
  ...([
    'batchPriceFactor',
    'contextTiers',
    'serviceTierFactors',
    'currency',
    'priceSource',
  ] as const),
] as const satisfies readonly (keyof Prices)[];

/** The prices of a model from one change to the next. Rows are never changed: recorded calls name theirs. */
@Entity({ name: 'model_price' })
export class ModelPrice extends Prices {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() modelId: number;
  @Varchar(200) modelName: string;
  @Bigint(nullable) createBy: number | null;
  @CreateTime() createTime: Date;
}
