import type { RerankCall } from '../rerank.adapter.js';

/** The body of POST /rerank; the texts are not wanted back. */
export function toRerankBody(call: RerankCall): Record<string, unknown> {
  return {
    model: call.model,
    query: call.query,
    documents: call.documents,
    top_n: call.topN,
    return_documents: false,
  };
}
