import { Embeddings } from '@langchain/core/embeddings';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type {
  EmbeddingClient,
  EmbedOptions,
  ModelUse,
  ResolvedEmbeddingModel,
} from '../model/index.js';

/**
 * An embedding model of Plinth for LangChain: vectors of length 1 (L2), in the order of the texts. Batches, retries and the
 * provider's throttling are those of EmbeddingClient, and so are its errors.
 */
export class PlinthEmbeddings extends Embeddings {
  /** `signal` ends every call. */
  constructor(
    private readonly client: EmbeddingClient,
    private readonly model: ResolvedEmbeddingModel,
    private readonly use: ModelUse,
    private readonly signal = new AbortController().signal,
  ) {
    super({ maxRetries: 0 });
  }

  override embedDocuments(texts: string[]): Promise<number[][]> {
    return this.embed(texts, 'document');
  }

  override async embedQuery(text: string): Promise<number[]> {
    const [vector] = await this.embed([text], 'query');
    if (!vector) throw new Error('The embedding model returned no vector.');
    return vector;
  }

  private async embed(
    texts: readonly string[],
    purpose: EmbedOptions['purpose'],
  ): Promise<number[][]> {
    if (texts.some((text) => text.trim() === '')) {
      throw new InvalidInputError(msg`A text to embed must not be empty. Leave empty texts out.`);
    }
    if (texts.length === 0) return [];
    const { client, model, use, signal } = this;
    const vectors = await client.embed(model, texts, { use, signal, purpose });
    return vectors.map((vector) => Array.from(vector));
  }
}
