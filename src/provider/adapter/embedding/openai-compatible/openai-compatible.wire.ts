import { z } from 'zod';

/** The fields read. The vectors themselves are checked apart: a schema for each number would cost more than the call. */
export const embeddingsSchema = z.looseObject({
  data: z.array(z.looseObject({ index: z.number().int().nullish(), embedding: z.unknown() })),
  usage: z
    .looseObject({
      prompt_tokens: z.number().nullish(),
      total_tokens: z.number().nullish(),
    })
    .nullish(),
});
