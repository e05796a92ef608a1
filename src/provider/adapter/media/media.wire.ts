import { z } from 'zod';

/** Fields of media services. One of another type counts as absent, because services differ in what is not essential. */
export const wireText = z.string().nullish().catch(null);
/** Some services number their tasks. */
export const wireId = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(null);
