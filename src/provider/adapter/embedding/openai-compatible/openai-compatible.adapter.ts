import type { OutboundHttp } from '../../../../platform/outbound/index.js';
import { endpointOf, FAMILY_ENDPOINTS } from '../../address.js';
import { bearerOf } from '../../bearer.js';
import type { ModelCallOptions, ModelConnection } from '../../model-call.js';
import { postForJson } from '../../model-exchange.js';
import { NamedAdapter } from '../../named-adapter.js';
import { UpstreamError } from '../../upstream.error.js';
import type { Vendor } from '../../vendors.js';
import type { EmbeddingAdapter, EmbeddingAnswer, EmbeddingCall } from '../embedding.adapter.js';
import { toEmbeddingsBody } from './openai-compatible.request.js';
import { toEmbeddingAnswer } from './openai-compatible.response.js';

export interface OpenAiCompatibleOptions extends Vendor {
  readonly maxInputs: number;
  /** Whether the service can be asked for a number of dimensions. */
  readonly asksDimensions: boolean;
}

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
    return endpointOf(address, {
      ...this.options.address,
      endpoint: '/embeddings',
      siblings: FAMILY_ENDPOINTS,
    });
  }

  async embed(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<EmbeddingAnswer> {
    const { dimensions, ...plain } = call;
    if (dimensions === undefined || !this.options.asksDimensions) {
      return this.post(plain, connection, options);
    }
    try {
      return await this.post(call, connection, options);
    } catch (error) {
      // A vendor's models of one fixed size refuse the field, even with the right number in it.
      if (!isRefusal(error)) throw error;
      return this.post(plain, connection, options);
    }
  }

  private async post(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<EmbeddingAnswer> {
    const request = {
      url: this.endpoint(connection.address),
      headers: bearerOf(connection.credential),
      body: toEmbeddingsBody(call),
      secrets: connection,
    };
    const answer = await postForJson(this.http, request, options);
    return toEmbeddingAnswer(answer, call.inputs.length, connection);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof UpstreamError && (error.status === 400 || error.status === 422);
}
