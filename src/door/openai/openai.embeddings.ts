import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { EmbeddingClient, estimateTokens, ModelResolver } from '../../model/index.js';
import type { CallTrail } from '../../model/index.js';
import { UnsupportedParameterError } from '../answer/door.errors.js';
import { modelName, parameters } from '../answer/parameters.js';
import type { EmbeddingsView } from './openai.view.js';

const MOST_INPUTS = 2_048;
const LONGEST_INPUT = 1_000_000;

const input = z.string().min(1).max(LONGEST_INPUT);
const embeddingsRequest = z.strictObject({
  model: modelName,
  input: z.union([input, z.array(input).min(1).max(MOST_INPUTS)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(100_000).nullish(),
  user: z.string().nullish(),
});

/** POST /v1/embeddings. */
@Injectable()
export class OpenAiEmbeddings {
  constructor(
    private readonly models: ModelResolver,
    private readonly client: EmbeddingClient,
  ) {}

  /** The vectors as the service answers them. Fails like EmbeddingClient, and with ParameterError. */
  async embed(
    caller: Caller,
    body: unknown,
    { signal, trail }: { readonly signal: AbortSignal; readonly trail: CallTrail },
  ): Promise<EmbeddingsView> {
    const { model: id, input, encoding_format, dimensions } = parameters(embeddingsRequest, body);
    const inputs = typeof input === 'string' ? [input] : input;
    const model = await this.models.resolveEmbedding(caller, id);
    const { vectors, inputTokens } = await this.client.embedAsAsked(model, inputs, {
      use: { caller, feature: 'embedding', trail },
      signal,
      ...(dimensions && { dimensions }),
    });
    if (dimensions && vectors.some(({ length }) => length !== dimensions)) {
      throw new UnsupportedParameterError('dimensions');
    }
    const tokens = inputTokens ?? inputs.reduce((sum, text) => sum + estimateTokens(text), 0);
    return {
      object: 'list',
      model: id,
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encoding_format === 'base64' ? base64Of(vector) : [...vector],
      })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  }
}

/** 32-bit floats, little-endian, whatever the byte order of this machine. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
