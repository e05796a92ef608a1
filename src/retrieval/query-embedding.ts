import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../platform/access/index.js';
import { EmbeddingClient, ModelResolver } from '../model/index.js';

const CACHED_QUERIES = 2_000;

/**
 * The vectors of questions. One that was asked before at the same revision of the tenant is not embedded again: the
 * vector depends on the model alone, so nothing that happens to the documents can make it wrong.
 */
@Injectable()
export class QueryEmbedding {
  private readonly cache = new LRUCache<string, Float32Array>({ max: CACHED_QUERIES });

  constructor(
    private readonly models: ModelResolver,
    private readonly embedder: EmbeddingClient,
  ) {}

  async vectorOf(
    asker: Pick<Caller, 'tenantId' | 'revision'>,
    modelName: string,
    question: { readonly text: string; readonly signal: AbortSignal },
  ): Promise<Float32Array> {
    const model = await this.models.resolveEmbedding(asker, modelName);
    const key = `${model.id} ${asker.revision} ${question.text}`;
    const known = this.cache.get(key);
    if (known) return known;
    const { signal, text } = question;
    const [vector] = await this.embedder.embed(model, [text], { signal, purpose: 'query' });
    if (!vector) throw new Error('The embedder answered no vector.');
    this.cache.set(key, vector);
    return vector;
  }
}
