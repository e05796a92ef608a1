import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../platform/access/index.js';
import { EmbeddingClient, ModelResolver } from '../model/index.js';

const CACHED_QUERIES = 2_000;

/**
 * Caches the vectors of questions per model and revision of the tenant. A vector depends on the model only, so changes
 * of documents do not invalidate it.
 */
@Injectable()
export class QueryVectorCache {
  private readonly cache = new LRUCache<string, Float32Array>({ max: CACHED_QUERIES });

  constructor(
    private readonly models: ModelResolver,
    private readonly embedder: EmbeddingClient,
  ) {}

  async vectorOf(
    caller: Pick<Caller, 'tenantId' | 'revision'>,
    modelName: string,
    question: { readonly text: string; readonly signal: AbortSignal },
  ): Promise<Float32Array> {
    const model = await this.models.resolveEmbedding(caller, modelName);
    const key = `${model.id} ${caller.revision} ${question.text}`;
    const known = this.cache.get(key);
    if (known) return known;
    const { signal, text } = question;
    const [vector] = await this.embedder.embed(model, [text], { signal, purpose: 'query' });
    if (!vector) throw new Error('The embedding model returned no vector.');
    this.cache.set(key, vector);
    return vector;
  }
}
