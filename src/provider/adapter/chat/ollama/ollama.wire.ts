import { z } from 'zod';

/** The fields read from an answer in one piece. */
export const ollamaAnswerSchema = z.looseObject({
  message: z.looseObject({
    content: z.string().nullish(),
    thinking: z.string().nullish(),
  }),
  done_reason: z.string().nullish(),
});
