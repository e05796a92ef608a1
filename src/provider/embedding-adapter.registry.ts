import { Injectable } from '@nestjs/common';
import { OutboundHttp } from '../platform/outbound/index.js';
import { AdapterRegistry, embeddingAdapters } from './adapter/index.js';
import type { EmbeddingAdapter } from './adapter/index.js';

/** The embedding adapters by provider code. */
@Injectable()
export class EmbeddingAdapterRegistry extends AdapterRegistry<EmbeddingAdapter> {
  constructor(http: OutboundHttp) {
    super(embeddingAdapters(http));
  }
}
