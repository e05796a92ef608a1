import { Injectable } from '@nestjs/common';
import { OutboundHttp } from '../platform/outbound/index.js';
import { AdapterRegistry, chatAdapters } from './adapter/index.js';
import type { ChatAdapter } from './adapter/index.js';

/** The chat adapters by provider code. */
@Injectable()
export class ChatAdapterRegistry extends AdapterRegistry<ChatAdapter> {
  constructor(http: OutboundHttp) {
    super(chatAdapters(http));
  }
}
