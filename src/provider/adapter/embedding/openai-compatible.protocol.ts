import { z } from 'zod';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY } from '../address.js';
import { bearerOf, billedUsage, postForJson } from '../model-call.js';
import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import { besideEndpoint, listModels } from '../model-list.js';
import type { OfferedModel } from '../model-list.js';
import { NamedAdapter } from '../named-adapter.js';
import { protocolError } from '../upstream.error.js';
import { throwIfError, recordIn, wholeNumberIn } from '../vendor-json.js';
import type { Vendor } from '../named-adapter.js';
import type { JsonRecord } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import { toVectors } from './embedding.adapter.js';
import type { EmbeddingAdapter, EmbeddingAnswer, EmbeddingCall } from './embedding.adapter.js';

export interface OpenAiCompatibleOptions extends Vendor {
  readonly maxInputs: number;
  /** Whether the service can be asked for the number of dimensions of its model, without which it may answer another. */
  readonly asksDimensions: boolean;
  /** The field for that number; `dimensions` when absent. */
  readonly dimensionsField?: 'dimensions' | 'output_dimension';
  /** The service refuses `encoding_format`, or the format that is wanted; it answers numbers without it. */
  readonly withoutFormat?: boolean;
}

type EmbeddingDialect = Pick<OpenAiCompatibleOptions, 'dimensionsField' | 'withoutFormat'>;

/** POST {address}/embeddings with a bearer key. */
export class OpenAiCompatibleAdapter extends NamedAdapter implements EmbeddingAdapter {
  readonly maxInputs: number;

  constructor(
    private readonly http: OutboundHttp,
    private readonly options: OpenAiCompatibleOptions,
  ) {
    super(options);
    this.maxInputs = options.maxInputs;
  }

  endpoint(address: string): string {
    return endpointOf(address, { ...FAMILY, ...this.options.address, endpoint: '/embeddings' });
  }

  async embed(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<EmbeddingAnswer> {
    const { dimensions, shortenedTo, ...plain } = call;
    if (shortenedTo !== undefined) {
      return this.post({ ...plain, dimensions: shortenedTo }, connection, options);
    }
    const { asksDimensions, dimensionsField = 'dimensions' } = this.options;
    if (dimensions === undefined || !asksDimensions) return this.post(plain, connection, options);
    return this.post({ ...plain, dimensions }, connection, options, [dimensionsField]);
  }

  async listModels(
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly OfferedModel[]> {
    const endpoint = this.endpoint(connection.address);
    const { href: url } = besideEndpoint(endpoint, /\/embeddings$/, '/models');
    const request = { url, headers: bearerOf(connection.credential) };
    return listModels(this.http, request, connection, options);
  }

  private async post(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
    optional: readonly string[] = [],
  ): Promise<EmbeddingAnswer> {
    const request = {
      url: this.endpoint(connection.address),
      headers: bearerOf(connection.credential),
      body: toEmbeddingsBody(call, this.options),
      secrets: connection,
      optional,
    };
    const answer = await postForJson(this.http, request, options);
    return toEmbeddingAnswer(answer, call.inputs.length, connection);
  }
}

/** The body of POST /embeddings. */
export function toEmbeddingsBody(
  call: EmbeddingCall,
  { dimensionsField = 'dimensions', withoutFormat = false }: EmbeddingDialect = {},
): Record<string, unknown> {
  return {
    model: call.model,
    input: call.inputs,
    [dimensionsField]: call.dimensions,
    ...(!withoutFormat && { encoding_format: 'float' }),
  };
}

/**
 * The fields read, but usage, which may be anything. The vectors themselves are checked apart: a schema for each number would cost
 * more than the call.
 */
const embeddingsSchema = z.looseObject({
  data: z.array(z.looseObject({ index: z.number().int().nullish(), embedding: z.unknown() })),
});

/** Maps an answer of /embeddings. Throws UpstreamError. */
export function toEmbeddingAnswer(
  answer: unknown,
  texts: number,
  secrets: Secrets,
): EmbeddingAnswer {
  throwIfError(answer, secrets);
  const parsed = embeddingsSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError(msg`The provider answered without vectors.`, parsed.error);
  }
  const vectors = toVectors(inOrder(parsed.data.data), texts);
  const usage = recordIn(parsed.data, 'usage');
  return { vectors, ...(usage && { usage: toUsage(usage) }) };
}

/** Each vector at the place of its text. One without an index, which some services leave out, is at its own place. */
function inOrder(
  data: readonly { readonly index?: number | null | undefined; readonly embedding: unknown }[],
): readonly unknown[] {
  const rows = new Map(data.map(({ index, embedding }, place) => [index ?? place, embedding]));
  if (rows.size < data.length) {
    throw protocolError(msg`The provider answered two vectors for the same text.`);
  }
  return data.map((_, place) => {
    if (!rows.has(place)) throw protocolError(msg`The provider answered no vector for a text.`);
    return rows.get(place);
  });
}

/** Servers that count nothing answer 0 (LM Studio, 2025-11), which no text has. */
function toUsage(raw: JsonRecord): Usage {
  return {
    inputTokens: wholeNumberIn(raw, 'prompt_tokens') || undefined,
    totalTokens: wholeNumberIn(raw, 'total_tokens') || undefined,
    billed: billedUsage(raw),
    raw,
  };
}
