import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import {
  EmbeddingClient,
  estimateTokens,
  ModelResolver,
  textsOfTokens,
} from '../../model/index.js';
import type { ReportedCall } from '../answer/answer.js';
import { ParameterError, UnsupportedParameterError } from '../answer/api.errors.js';
import { EMBEDDING_HINTS, withoutHints } from '../answer/hints.js';
import { modelName, parameters } from '../answer/parameters.js';
import type { EmbeddingsView } from './openai.view.js';

const MAX_INPUTS = 2_048;
const MAX_INPUT_CHARS = 1_000_000;
/** Maximum tokens per input; larger than any model's window. */
const MAX_TOKENS = 100_000;

const text = z.string().min(1).max(MAX_INPUT_CHARS);
const tokens = z.array(z.number()).min(1).max(MAX_TOKENS);
const fields = {
  model: modelName,
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(100_000).nullish(),
};
const ofTexts = z.strictObject({
  ...fields,
  input: z.union([text.transform((one) => [one]), z.array(text).min(1).max(MAX_INPUTS)]),
});
const ofTokens = z.strictObject({ ...fields, input: tokens.transform((one) => [one]) });
const ofTokenLists = z.strictObject({ ...fields, input: z.array(tokens).max(MAX_INPUTS) });

/** Selects the schema by the first input, so that errors refer to the intended form. */
function requestOf(body: unknown) {
  const { input } = (body ?? {}) as { input?: unknown };
  const first: unknown = Array.isArray(input) ? input[0] : undefined;
  if (typeof first === 'number') return parameters(ofTokens, body);
  return parameters(Array.isArray(first) ? ofTokenLists : ofTexts, body);
}

export interface EmbeddingContext extends ReportedCall {
  readonly signal: AbortSignal;
}

interface EmbeddedTexts {
  /** The model id of the request. */
  readonly model: string;
  readonly texts: readonly string[];
  readonly dimensions: number | undefined;
  /** Name of the parameter for the dimensions, used in errors. */
  readonly param: string;
}

/** POST /v1/embeddings. */
@Injectable()
export class OpenAiEmbeddings {
  constructor(
    private readonly models: ModelResolver,
    private readonly client: EmbeddingClient,
  ) {}

  /** The service's vectors. Fails like EmbeddingClient, and with ParameterError. */
  async embed(caller: Caller, body: unknown, context: EmbeddingContext): Promise<EmbeddingsView> {
    const checkedBody = withoutHints(body, EMBEDDING_HINTS, context.ignored);
    const { model: id, input, encoding_format, dimensions } = requestOf(checkedBody);
    const texts = isText(input) ? input : await decoded(input);
    const embeddingCall = {
      model: id,
      texts,
      dimensions: dimensions ?? undefined,
      param: 'dimensions',
    };
    const { vectors, inputTokens } = await this.vectors(caller, embeddingCall, context);
    const tokens = inputTokens ?? texts.reduce((sum, one) => sum + estimateTokens(one), 0);
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

  /** One vector per text. Fails like EmbeddingClient, and with UnsupportedParameterError if a service ignores the dimensions. */
  async vectors(
    caller: Caller,
    { model: name, texts, dimensions, param }: EmbeddedTexts,
    { signal, trail, ignored }: EmbeddingContext,
  ): Promise<Awaited<ReturnType<EmbeddingClient['embedAsAsked']>>> {
    const model = await this.models.resolveEmbedding(caller, name);
    ignored.beginModel(model);
    const answer = await this.client.embedAsAsked(model, texts, {
      use: { caller, feature: 'embedding', trail },
      signal,
      ...(dimensions !== undefined && { dimensions }),
    });
    if (dimensions !== undefined && answer.vectors.some(({ length }) => length !== dimensions)) {
      throw new UnsupportedParameterError(param);
    }
    return answer;
  }
}

function isText(input: readonly string[] | readonly number[][]): input is readonly string[] {
  return typeof input[0] === 'string';
}

/** Few services share the vocabulary of the client, and those that do not would take its ids for other words. */
async function decoded(lists: readonly number[][]): Promise<string[]> {
  return (await textsOfTokens(lists)).map((one, at) => {
    if (one !== undefined) return one;
    throw new ParameterError(
      'input',
      msg`The token ids at position ${at} are not all of the vocabulary cl100k_base. Send text, or make the ids with cl100k_base.`,
    );
  });
}

/** 32-bit floats, little-endian, whatever the byte order of this machine. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
