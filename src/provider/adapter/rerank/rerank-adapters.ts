import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { vendors } from '../vendors.js';
import { QueryDocumentsAdapter } from './query-documents/query-documents.adapter.js';
import type { QueryDocumentsOptions } from './query-documents/query-documents.adapter.js';
import type { RerankAdapter } from './rerank.adapter.js';
import { zhipuToken } from './zhipu-token.js';

/** DashScope has its rerank models below a path of their own; people enter that of the others. */
const qianwen = {
  address: {
    prefix: '/compatible-api/v1',
    endings: { '/compatible-mode/v1': '/compatible-api/v1' },
  },
  endpoint: '/reranks',
  maxDocuments: 500,
} as const;

/** Vendors that are the protocol plus defaults. Where no limit is documented, 100 documents are asked about at a time. */
const queryDocumentsPresets: readonly QueryDocumentsOptions[] = [
  { ...vendors.qianwen, ...qianwen },
  { ...vendors.bailian, ...qianwen },
  { ...vendors.siliconflow, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.zhipu, endpoint: '/rerank', maxDocuments: 128, tokenOf: zhipuToken },
  { ...vendors.custom, label: 'Custom (rerank)', endpoint: '/rerank', maxDocuments: 100 },
];

/** All rerank adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function rerankAdapters(http: OutboundHttp): readonly RerankAdapter[] {
  return queryDocumentsPresets.map((preset) => new QueryDocumentsAdapter(http, preset));
}
