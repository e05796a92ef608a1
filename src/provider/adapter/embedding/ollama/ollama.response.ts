import { protocolError } from '../../answer-failure.js';
import { isRecord } from '../../json-fields.js';
import type { Secrets } from '../../safe-text.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { EmbeddingAnswer } from '../embedding.adapter.js';
import { toVectors } from '../vectors.js';
import { embedSchema } from './ollama.wire.js';

/** Maps an answer of /api/embed. Throws UpstreamError. */
export function toEmbeddingAnswer(
  answer: unknown,
  texts: number,
  secrets: Secrets,
): EmbeddingAnswer {
  if (isRecord(answer) && answer['error']) throw errorInAnswer(answer['error'], secrets);
  const parsed = embedSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError('The provider answered without vectors.', parsed.error);
  }
  const { embeddings, ...raw } = parsed.data;
  const inputTokens = raw.prompt_eval_count ?? undefined;
  return {
    vectors: toVectors(embeddings, texts),
    ...(inputTokens !== undefined && { usage: { inputTokens, totalTokens: inputTokens, raw } }),
  };
}
