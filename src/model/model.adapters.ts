import { Injectable } from '@nestjs/common';
import {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
} from '../provider/index.js';

interface Addressed {
  /** The URL that would be called for a stored address. Throws InvalidAddressError. */
  endpoint(address: string): string;
}

/** The adapters of every category of models that is called by name. */
@Injectable()
export class ModelAdapters {
  constructor(
    readonly chat: ChatAdapterRegistry,
    readonly embedding: EmbeddingAdapterRegistry,
    readonly rerank: RerankAdapterRegistry,
    readonly media: MediaAdapterRegistry,
  ) {}

  /** The adapter that a model of the category and provider code is called with; undefined where there is none. */
  find(category: string, providerCode: string): Addressed | undefined {
    const registry = this.registryOf(category);
    return registry?.has(providerCode) ? registry.get(providerCode) : undefined;
  }

  /** The label of each provider code that has an adapter of some kind; the chat adapter's where it has one. */
  labels(): ReadonlyMap<string, string> {
    const labels = new Map<string, string>();
    for (const registry of [this.chat, this.embedding, this.rerank, this.media]) {
      for (const code of registry.codes()) {
        if (!labels.has(code)) labels.set(code, registry.get(code).label);
      }
    }
    return labels;
  }

  private registryOf(
    category: string,
  ): ChatAdapterRegistry | EmbeddingAdapterRegistry | RerankAdapterRegistry | undefined {
    switch (category) {
      case 'chat':
        return this.chat;
      case 'vector':
        return this.embedding;
      case 'rerank':
        return this.rerank;
      default:
        return undefined;
    }
  }
}
