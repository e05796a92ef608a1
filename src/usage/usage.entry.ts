import { z } from 'zod';
import type { Caller } from '../platform/access/index.js';

/** The features that call models. */
export const FEATURES = [
  'chat',
  'agent',
  'retrieval',
  'ingestion',
  'embedding',
  'rerank',
  'media',
  'moderation',
  'harness',
  'test',
] as const;
export type Feature = (typeof FEATURES)[number];

/**
 * Auxiliary calls, which cost nothing: a lookup of a media task, a count of tokens. They are rows of these kinds,
 * and reports and limits do not count them.
 */
export const AUXILIARY_KINDS = ['lookup', 'count'] as const;
export type AuxiliaryKind = (typeof AUXILIARY_KINDS)[number];

/** The caller on whose behalf a model is called. */
export type ModelUser = Pick<
  Caller,
  'tenantId' | 'userId' | 'origin' | 'apiKey' | 'subjects' | 'tags'
>;

/** The units that a call of a media model is paid by. */
export interface MediaUnits {
  readonly images?: number | undefined;
  readonly seconds?: number | undefined;
  readonly characters?: number | undefined;
}

/** A row of the usage ledger as it is written: names, cost and the like are added by the database. */
const usageEntry = z.object({
  id: z.uuid(),
  tenant_id: z.string(),
  call_time: z.string(),
  user_id: z.number(),
  api_key_id: z.number().nullable(),
  group_ids: z.array(z.number()).optional(),
  tags: z.array(z.string()).optional(),
  door: z.string(),
  feature: z.string(),
  agent_id: z.number().nullable(),
  asked_model: z.string(),
  model_id: z.number(),
  model_name: z.string(),
  provider_code: z.string(),
  kind: z.string(),
  attempt: z.number(),
  outcome: z.string(),
  estimated: z.boolean(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  reasoning_tokens: z.number(),
  // Entries that an earlier release has left in files lack these.
  cache_write_tokens: z.number().default(0),
  cache_write_hour_tokens: z.number().default(0),
  audio_input_tokens: z.number().default(0),
  audio_output_tokens: z.number().default(0),
  web_searches: z.number().default(0),
  code_runs: z.number().default(0),
  service_tier: z.string().nullable().default(null),
  service_cost: z.number().nullable().default(null),
  service_currency: z.string().nullable().default(null),
  /** What a search of the web has cost, in the currency of the installation; calls of models are priced by their price version. */
  cost: z.number().optional(),
  images: z.number(),
  seconds: z.number(),
  characters: z.number(),
  price_version: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  duration_ms: z.number(),
  /** The call has reserved part of a limit, which its usage replaces. */
  limited: z.boolean().optional(),
});
export type UsageEntry = z.infer<typeof usageEntry>;

/** Entries that were written together. */
export const usageEntries: z.ZodType<UsageEntry[]> = z.array(usageEntry);
