import type { EmbeddingCall } from '../embedding.adapter.js';

/** The body of POST /embeddings. */
export function toEmbeddingsBody(call: EmbeddingCall): Record<string, unknown> {
  return {
    model: call.model,
    input: call.inputs,
    dimensions: call.dimensions,
    encoding_format: 'float',
  };
}
