import { z } from 'zod';
import { wireId, wireText } from '../media.wire.js';

export const taskSchema = z.object({
  output: z.object({
    task_id: wireId,
    task_status: wireText,
    /** An image that could not be made has `code` and `message` instead of `url`. */
    results: z
      .array(z.object({ url: wireText }))
      .nullish()
      .catch(null),
  }),
});
