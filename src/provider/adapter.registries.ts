import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import {
  AdapterRegistry,
  chatAdapters,
  embeddingAdapters,
  mediaAdapters,
  rerankAdapters,
  UnsupportedProviderError,
} from './adapter/index.js';
import type {
  ChatAdapter,
  EmbeddingAdapter,
  MediaAdapter,
  RerankAdapter,
} from './adapter/index.js';

@Injectable()
export class ChatAdapterRegistry extends AdapterRegistry<ChatAdapter> {
  constructor(http: OutboundHttp) {
    super(chatAdapters(http));
  }
}

@Injectable()
export class EmbeddingAdapterRegistry extends AdapterRegistry<EmbeddingAdapter> {
  constructor(http: OutboundHttp) {
    super(embeddingAdapters(http));
  }
}

@Injectable()
export class RerankAdapterRegistry extends AdapterRegistry<RerankAdapter> {
  constructor(http: OutboundHttp) {
    super(rerankAdapters(http));
  }
}

/** Codes that have an adapter for chat and can have none for media. */
const WITHOUT_MEDIA: ReadonlyMap<string, string> = new Map([
  [
    'custom_messages',
    'The messages protocol has no media; a service of your own is called with custom_api.',
  ],
]);

@Injectable()
export class MediaAdapterRegistry extends AdapterRegistry<MediaAdapter> {
  constructor(http: OutboundHttp, @Inject(CONFIG) config: Config) {
    const imageSdk = { address: config.IMAGE_SDK_URL, pollMs: config.MEDIA_POLL_SECONDS * 1_000 };
    super(mediaAdapters(http, imageSdk));
  }

  override get(code: string): MediaAdapter {
    const reason = WITHOUT_MEDIA.get(code);
    if (reason !== undefined) throw new UnsupportedProviderError(code, this.codes(), reason);
    return super.get(code);
  }
}
