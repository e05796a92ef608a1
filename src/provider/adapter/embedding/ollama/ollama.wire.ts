import { z } from 'zod';

/** The fields read from an answer of /api/embed. */
export const embedSchema = z.looseObject({
  embeddings: z.array(z.unknown()),
  prompt_eval_count: z.number().nullish(),
});
