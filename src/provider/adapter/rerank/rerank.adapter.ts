import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import type { AdapterNames } from '../named-adapter.js';

/** The contract of a rerank model's adapter. It holds no state of any tenant. */
export interface RerankAdapter extends AdapterNames {
  /** The maximum number of documents per call. */
  readonly maxDocuments: number;

  /** The URL that would be called for a stored address, and for a model of the service that has one of its own. Pure; throws InvalidAddressError. */
  endpoint(address: string, model?: string): string;

  /**
   * Relevance of documents to a query, best first; a document that the service left out is missing. Fails with
   * UpstreamError (also on an index outside of the documents, one given twice, or a score that is no finite number).
   */
  rerank(
    call: RerankCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<RerankAnswer>;
}

export interface RerankCall {
  readonly model: string;
  readonly query: string;
  /** The texts, 1 to maxDocuments. */
  readonly documents: readonly string[];
  readonly topN: number;
}

export interface RerankAnswer {
  readonly ranked: readonly RankedDocument[];
  readonly usage?: Usage;
}

export interface RankedDocument {
  /** Position in the documents of the call. */
  readonly index: number;
  /** The score of the service; most answer 0 to 1. */
  readonly score: number;
}
