import { Injectable } from '@nestjs/common';
import {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
} from '../provider/index.js';
import type { AdapterNames, ChatAdapter } from '../provider/index.js';
import { categoryOf, storedCategory } from './model.entity.js';

/** The destination of keys whose address the operator sets: a fixed word, because no model can change it. */
const OPERATOR_ADDRESS = 'the address set by the operator';

interface CallableAdapter extends AdapterNames {
  /** The URL that would be called for a stored address. Throws InvalidAddressError. Media adapters have none. */
  endpoint?(address: string): string;
}

/** The fields of a model that decide where its key is sent. */
interface Destined {
  readonly category: string;
  readonly providerCode: string;
  readonly apiHost?: string | null | undefined;
}

/** An adapter whose services can have a list of models. */
export type ListingAdapter = Pick<ChatAdapter, 'code' | 'listModels'>;

/** The adapters of every category of models that is called by name. */
@Injectable()
export class ModelAdapters {
  constructor(
    readonly chat: ChatAdapterRegistry,
    readonly embedding: EmbeddingAdapterRegistry,
    readonly rerank: RerankAdapterRegistry,
    readonly media: MediaAdapterRegistry,
  ) {}

  /** The adapter for models of the category and provider code; undefined without one. */
  find(category: string, providerCode: string): CallableAdapter | undefined {
    const kind = categoryOf(category)?.adapters;
    if (kind === undefined) return undefined;
    return this[kind].has(providerCode) ? this[kind].get(providerCode) : undefined;
  }

  /** The address of a model whose apiHost is empty; undefined where apiHost is required. */
  defaultAddress(category: string, providerCode: string): string | undefined {
    // A category without an adapter follows the other adapters of its code.
    const adapter = this.find(category, providerCode) ?? this.byCode().get(providerCode);
    return adapter?.defaultAddress;
  }

  /** Scheme, host and port that a model's key is sent to; '' for an address that cannot be called. */
  destination({ category, providerCode, apiHost }: Destined): string {
    const fallback = this.defaultAddress(storedCategory(category), providerCode);
    // This adapter ignores the address of the record.
    if (fallback === '') return OPERATOR_ADDRESS;
    return URL.parse(apiHost?.trim() || (fallback ?? ''))?.origin ?? '';
  }

  /** An adapter for each provider code, the chat adapter where the code has one; those that can chat come first. */
  byCode(): ReadonlyMap<string, AdapterNames> {
    const adapters = new Map<string, AdapterNames>();
    for (const registry of [this.chat, this.embedding, this.rerank, this.media]) {
      for (const code of registry.codes()) {
        if (!adapters.has(code)) adapters.set(code, registry.get(code));
      }
    }
    return adapters;
  }

  /** The adapter that can list the models of a service of the code; undefined without one. */
  listing(code: string): ListingAdapter | undefined {
    if (this.chat.has(code)) return this.chat.get(code);
    const other = this.embedding.has(code) ? this.embedding.get(code) : undefined;
    return other?.listModels ? { code, listModels: other.listModels.bind(other) } : undefined;
  }
}
