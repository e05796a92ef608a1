import { Entity } from 'typeorm';
import {
  Bigint,
  Integer,
  nullable,
  Numeric,
  primary,
  Smallint,
  TenantId,
  Text,
  Timestamp,
  Uuid,
  Varchar,
} from '../platform/database/index.js';

/**
 * One attempt of a call of a model service; after the roll-up all those of a day that agree in who, what and price. Names
 * of models and agents are kept beside the ids, because a row outlives what it names. Those of users and of their keys are
 * not, because nothing of a deleted user may stay but the figures.
 */
@Entity({ name: 'upstream_call' })
export class CallRecord {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  /** The start of the attempt; for a roll-up the beginning of its day. */
  @Timestamp() callTime: Date;
  @Bigint() userId: number;
  @Bigint(nullable) apiKeyId: number | null;
  /** Groups of the user when the call was made, ascending; null: none. */
  @Bigint({ array: true, nullable: true }) groupIds: number[] | null;
  /** Tags of the request, ascending; null: none. */
  @Text({ array: true, nullable: true }) tags: string[] | null;
  @Varchar(10) door: string;
  @Varchar(20) feature: string;
  @Bigint(nullable) agentId: number | null;
  @Varchar(200, nullable) agentName: string | null;
  @Varchar(200) askedModel: string;
  @Bigint() modelId: number;
  @Varchar(200) modelName: string;
  @Varchar(50) providerCode: string;
  /** chat, embedding, rerank, media, or one of AUXILIARY_KINDS. */
  @Varchar(10) kind: string;
  /** The number of the attempt, from 1; null in a roll-up. */
  @Smallint(nullable) attempt: number | null;
  /** ok, aborted, or what went wrong; null in a roll-up. */
  @Varchar(20, nullable) outcome: string | null;
  @Integer({ default: 1 }) calls: number;
  @Integer({ default: 0 }) failures: number;
  @Integer({ default: 0 }) aborts: number;
  /** The number of calls whose counts are estimated. */
  @Integer({ default: 0 }) estimates: number;
  @Bigint() inputTokens: number;
  @Bigint() outputTokens: number;
  /** Part of inputTokens. */
  @Bigint() cachedTokens: number;
  /** Part of outputTokens. */
  @Bigint() reasoningTokens: number;
  /** Part of inputTokens: written to the cache of the service for 5 minutes, or an unstated time. */
  @Bigint({ default: 0 }) cacheWriteTokens: number;
  /** The same for an hour. */
  @Bigint({ default: 0 }) cacheWriteHourTokens: number;
  /** Part of inputTokens. */
  @Bigint({ default: 0 }) audioInputTokens: number;
  /** Part of outputTokens. */
  @Bigint({ default: 0 }) audioOutputTokens: number;
  /** Calls of tools of the service. */
  @Integer({ default: 0 }) webSearches: number;
  @Integer({ default: 0 }) codeRuns: number;
  /** The tier of the service, in its words; null: not stated. */
  @Varchar(20, nullable) serviceTier: string | null;
  @Integer() images: number;
  @Numeric({ precision: 14, scale: 3 }) seconds: number;
  @Bigint() characters: number;
  /** The cost; null where the model had no price. */
  @Numeric({ precision: 24, scale: 12, nullable: true }) cost: string | null;
  /** Currency of the cost; null: that of the installation. */
  @Varchar(3, nullable) currency: string | null;
  /** The part of the cost that is of estimated calls. */
  @Numeric({ precision: 24, scale: 12, nullable: true }) estimatedCost: string | null;
  /** Calls that have used something without a price. */
  @Integer({ default: 0 }) unpriced: number;
  /** The cost as the services have stated it, with its currency. */
  @Numeric({ precision: 24, scale: 12, nullable: true }) serviceCost: string | null;
  @Varchar(3, nullable) serviceCurrency: string | null;
  @Bigint(nullable) priceVersion: number | null;
  /** Total over the calls that have returned a token. */
  @Bigint(nullable) firstTokenMs: number | null;
  @Integer({ default: 0 }) firstTokens: number;
  @Bigint() durationMs: number;
}
