import { z } from 'zod';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, LOCAL_ENDPOINTS } from '../address.js';
import type { ModelCallOptions, ModelConnection } from '../model-call.js';
import { postForJson } from '../model-call.js';
import { protocolError } from '../upstream.error.js';
import { throwIfError, wholeNumberIn } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import { toVectors } from './embedding.adapter.js';
import type { EmbeddingAdapter, EmbeddingAnswer, EmbeddingCall } from './embedding.adapter.js';

/**
 * Ollama's own protocol: POST {address}/api/embed. Reads no key. It is not asked for the dimensions of a model's record,
 * because it cuts the vectors of any model to them, also of models that are of no use when they are cut.
 */
export class OllamaEmbeddingAdapter implements EmbeddingAdapter {
  readonly code = 'ollama';
  readonly label = 'Ollama';
  /** Ollama has no limit of its own; this bounds the size of one answer. */
  readonly maxInputs = 512;

  constructor(private readonly http: OutboundHttp) {}

  endpoint(address: string): string {
    return endpointOf(address, {
      endpoint: '/api/embed',
      siblings: LOCAL_ENDPOINTS,
      prefix: '',
      // The bases of its other interfaces, which people copy from examples.
      endings: { '/v1': '', '/api': '' },
    });
  }

  async embed(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<EmbeddingAnswer> {
    const request = {
      url: this.endpoint(connection.address),
      headers: {},
      body: toEmbedBody(call),
      secrets: connection,
    };
    const answer = await postForJson(this.http, request, options);
    return toEmbeddingAnswer(answer, call.inputs.length, connection);
  }
}

/** The body of POST /api/embed. */
export function toEmbedBody(call: EmbeddingCall): Record<string, unknown> {
  return { model: call.model, input: call.inputs, dimensions: call.shortenedTo };
}

/** The fields read from an answer of /api/embed, but the count of tokens, which may be anything. */
const embedSchema = z.looseObject({ embeddings: z.array(z.unknown()) });

/** Maps an answer of /api/embed. Throws UpstreamError. */
export function toEmbeddingAnswer(
  answer: unknown,
  texts: number,
  secrets: Secrets,
): EmbeddingAnswer {
  throwIfError(answer, secrets);
  const parsed = embedSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError(msg`The provider answered without vectors.`, parsed.error);
  }
  const { embeddings, ...raw } = parsed.data;
  const inputTokens = wholeNumberIn(raw, 'prompt_eval_count');
  return {
    vectors: toVectors(embeddings, texts),
    ...(inputTokens !== undefined && { usage: { inputTokens, totalTokens: inputTokens, raw } }),
  };
}
