import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Attempt } from '../calls/attempt.js';

/** A row of the books as it is written: names, cost and the like are added by the database. */
const callEntry = z.object({
  id: z.uuid(),
  tenant_id: z.string(),
  call_time: z.string(),
  user_id: z.number(),
  api_key_id: z.number().nullable(),
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
  images: z.number(),
  seconds: z.number(),
  characters: z.number(),
  price_version: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  duration_ms: z.number(),
  /** It has reserved something of a limit, which is to be replaced by what it has used. */
  limited: z.boolean().optional(),
});
export type CallEntry = z.infer<typeof callEntry>;

/** Entries that were written together. */
export const callEntries: z.ZodType<CallEntry[]> = z.array(callEntry);

export function entryOf(attempt: Attempt): CallEntry {
  const { use, asked, model, kind, auxiliary, number, reservation } = attempt.start;
  const { caller, feature, agentId } = use;
  const { images, seconds, characters } = attempt.mediaUnits;
  const tokens = attempt.tokens;
  return {
    id: reservation ?? randomUUID(),
    tenant_id: model.tenantId,
    call_time: new Date(attempt.startedAt).toISOString(),
    user_id: caller.userId,
    api_key_id: caller.apiKey?.id ?? null,
    door: caller.origin,
    feature,
    agent_id: agentId ?? null,
    asked_model: asked,
    model_id: model.id,
    model_name: model.modelName,
    provider_code: model.providerCode,
    kind: auxiliary ?? kind,
    attempt: number,
    outcome: attempt.outcome,
    estimated: tokens.estimated,
    input_tokens: tokens.inputTokens,
    output_tokens: tokens.outputTokens,
    cached_tokens: tokens.cachedTokens,
    reasoning_tokens: tokens.reasoningTokens,
    images: images ?? 0,
    seconds: seconds ?? 0,
    characters: characters ?? 0,
    price_version: model.priceVersion ?? null,
    first_token_ms: attempt.firstTokenMs === undefined ? null : Math.round(attempt.firstTokenMs),
    duration_ms: Math.round(attempt.durationMs),
    ...(reservation !== undefined && { limited: true }),
  };
}
