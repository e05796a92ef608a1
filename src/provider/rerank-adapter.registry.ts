import { Injectable } from '@nestjs/common';
import { OutboundHttp } from '../platform/outbound/index.js';
import { AdapterRegistry, rerankAdapters } from './adapter/index.js';
import type { RerankAdapter } from './adapter/index.js';

/** The rerank adapters by provider code. */
@Injectable()
export class RerankAdapterRegistry extends AdapterRegistry<RerankAdapter> {
  constructor(http: OutboundHttp) {
    super(rerankAdapters(http));
  }
}
