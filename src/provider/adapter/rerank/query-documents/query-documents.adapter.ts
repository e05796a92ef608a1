import type { OutboundHttp } from '../../../../platform/outbound/index.js';
import { endpointOf, FAMILY_ENDPOINTS } from '../../address.js';
import { bearerOf } from '../../bearer.js';
import type { ModelCallOptions, ModelConnection } from '../../model-call.js';
import { postForJson } from '../../model-exchange.js';
import { NamedAdapter } from '../../named-adapter.js';
import type { Vendor } from '../../vendors.js';
import type { RankedDocument, RerankAdapter, RerankCall } from '../rerank.adapter.js';
import { toRerankBody } from './query-documents.request.js';
import { toRankedDocuments } from './query-documents.response.js';

export interface QueryDocumentsOptions extends Vendor {
  readonly endpoint: '/rerank' | '/reranks';
  readonly maxDocuments: number;
  /** Makes the bearer token of one call from the credential; without it the credential is the token. */
  readonly tokenOf?: (credential: string) => string;
}

/** The form that most rerank services share: POST {address}/rerank with a query and its documents, and a bearer key. */
export class QueryDocumentsAdapter extends NamedAdapter implements RerankAdapter {
  readonly maxDocuments: number;

  constructor(
    private readonly http: OutboundHttp,
    private readonly options: QueryDocumentsOptions,
  ) {
    super(options);
    this.maxDocuments = options.maxDocuments;
  }

  endpoint(address: string): string {
    const { address: form, endpoint } = this.options;
    return endpointOf(address, { ...form, endpoint, siblings: FAMILY_ENDPOINTS });
  }

  async rerank(
    call: RerankCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly RankedDocument[]> {
    const token = this.token(connection);
    const secrets = { ...connection, token };
    const request = {
      url: this.endpoint(connection.address),
      headers: bearerOf(token),
      body: toRerankBody(call),
      secrets,
    };
    return toRankedDocuments(await postForJson(this.http, request, options), call, secrets);
  }

  private token({ credential }: ModelConnection): string | undefined {
    const { tokenOf } = this.options;
    return credential === undefined || !tokenOf ? credential : tokenOf(credential);
  }
}
