import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { queryDocumentsPresets } from './presets.js';
import { QueryDocumentsAdapter } from './query-documents/query-documents.adapter.js';
import type { RerankAdapter } from './rerank.adapter.js';

/** Every rerank adapter there is. A new vendor is a line of presets.ts, or a folder and a line here. */
export function rerankAdapters(http: OutboundHttp): readonly RerankAdapter[] {
  return queryDocumentsPresets.map((preset) => new QueryDocumentsAdapter(http, preset));
}
