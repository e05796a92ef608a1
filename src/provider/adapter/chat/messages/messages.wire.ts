import { z } from 'zod';

/** The fields read from an answer in one piece; blocks of other types are passed over. */
export const messageSchema = z.looseObject({
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().nullish(),
      thinking: z.string().nullish(),
      id: z.string().nullish(),
      name: z.string().nullish(),
      input: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  stop_reason: z.string().nullish(),
  usage: z.looseObject({}).nullish(),
});
