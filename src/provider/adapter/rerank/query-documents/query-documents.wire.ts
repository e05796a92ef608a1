import { z } from 'zod';

/** The fields read. A score that is no finite number does not pass. */
export const rankedSchema = z.looseObject({
  results: z.array(z.looseObject({ index: z.number().int(), relevance_score: z.number() })),
});
