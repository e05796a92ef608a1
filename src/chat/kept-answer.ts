import { z } from 'zod';
import { endedStates } from './message.entity.js';
import type { ProviderState } from '../provider/index.js';
import type { StoredSource } from './message.entity.js';
import type { StoredStep } from './step/step.entity.js';
import type { KeptAnswer } from './turn.repository.js';

const source = z.custom<StoredSource>((value) => typeof value === 'object' && value !== null);
const step = z.custom<StoredStep>((value) => typeof value === 'object' && value !== null);

const state = z.custom<ProviderState>((value) => typeof value === 'object' && value !== null);

/** An answer as a file of DATA_DIR holds it. */
export const keptAnswer: z.ZodType<KeptAnswer> = z.object({
  owner: z.object({ tenantId: z.string(), userId: z.number() }),
  answer: z.object({
    turnId: z.uuid(),
    questionId: z.number(),
    sessionId: z.number().optional(),
    content: z.string(),
    reasoning: z.string(),
    modelName: z.string(),
    agentId: z.number().optional(),
    state: z.enum(endedStates),
    finishReason: z.string(),
    error: z.string().optional(),
    usage: z.object({
      inputTokens: z.number(),
      outputTokens: z.number(),
      totalTokens: z.number(),
      estimated: z.boolean(),
    }),
    firstTokenMs: z.number().optional(),
    durationMs: z.number(),
    sources: z.array(source).optional(),
    steps: z.array(step).optional(),
    providerState: state.optional(),
    structured: z.boolean().optional(),
  }),
});
