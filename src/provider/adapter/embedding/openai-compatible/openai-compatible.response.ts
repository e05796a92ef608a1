import { protocolError } from '../../answer-failure.js';
import { isRecord } from '../../json-fields.js';
import type { Usage } from '../../model-call.js';
import type { Secrets } from '../../safe-text.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { EmbeddingAnswer } from '../embedding.adapter.js';
import { toVectors } from '../vectors.js';
import { embeddingsSchema } from './openai-compatible.wire.js';

/** Maps an answer of /embeddings. Throws UpstreamError. */
export function toEmbeddingAnswer(
  answer: unknown,
  texts: number,
  secrets: Secrets,
): EmbeddingAnswer {
  if (isRecord(answer) && answer['error']) throw errorInAnswer(answer['error'], secrets);
  const parsed = embeddingsSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError('The provider answered without vectors.', parsed.error);
  }
  const { data, usage } = parsed.data;
  const vectors = toVectors(inOrder(data), texts);
  return { vectors, ...(usage && { usage: toUsage(usage) }) };
}

/** Each vector at the place of its text. One without an index, which some services leave out, is at its own place. */
function inOrder(
  data: readonly { readonly index?: number | null | undefined; readonly embedding: unknown }[],
): readonly unknown[] {
  const rows = new Map(data.map(({ index, embedding }, place) => [index ?? place, embedding]));
  if (rows.size < data.length) {
    throw protocolError('The provider answered two vectors for the same text.');
  }
  return data.map((_, place) => {
    if (!rows.has(place)) throw protocolError('The provider answered no vector for a text.');
    return rows.get(place);
  });
}

function toUsage(usage: {
  readonly prompt_tokens?: number | null | undefined;
  readonly total_tokens?: number | null | undefined;
}): Usage {
  return {
    inputTokens: usage.prompt_tokens ?? undefined,
    totalTokens: usage.total_tokens ?? undefined,
    raw: usage,
  };
}
