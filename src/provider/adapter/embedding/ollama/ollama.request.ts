import type { EmbeddingCall } from '../embedding.adapter.js';

/** The body of POST /api/embed. */
export function toEmbedBody(call: EmbeddingCall): Record<string, unknown> {
  return { model: call.model, input: call.inputs };
}
