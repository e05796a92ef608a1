import { z } from 'zod';
import jwt from 'jsonwebtoken';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY_ENDPOINTS } from '../address.js';
import { bearerOf, postForJson } from '../model-call.js';
import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import { NamedAdapter } from '../named-adapter.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError, throwIfError } from '../upstream.error.js';
import { isRecord, recordIn, wholeNumberIn } from '../json-fields.js';
import type { Secrets } from '../safe-text.js';
import type { RankedDocument, RerankAdapter, RerankAnswer, RerankCall } from './rerank.adapter.js';

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
  ): Promise<RerankAnswer> {
    const token = this.token(connection);
    const secrets = { ...connection, token };
    const request = {
      url: this.endpoint(connection.address),
      headers: bearerOf(token),
      body: toRerankBody(call),
      secrets,
    };
    const answer = await postForJson(this.http, request, options);
    const usage = usageIn(answer);
    return { ranked: toRankedDocuments(answer, call, secrets), ...(usage && { usage }) };
  }

  private token({ credential }: ModelConnection): string | undefined {
    const { tokenOf } = this.options;
    return credential === undefined || !tokenOf ? credential : tokenOf(credential);
  }
}

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

/** The fields read. A score that is no finite number does not pass. */
const rankedSchema = z.looseObject({
  results: z.array(z.looseObject({ index: z.number().int(), relevance_score: z.number() })),
});

/** Maps an answer of /rerank to at most `topN` documents, best first. Throws UpstreamError. */
export function toRankedDocuments(
  answer: unknown,
  { documents, topN }: Pick<RerankCall, 'documents' | 'topN'>,
  secrets: Secrets,
): readonly RankedDocument[] {
  throwIfError(answer, secrets);
  const parsed = rankedSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError(
      msg`The provider answered without a score for each document.`,
      parsed.error,
    );
  }
  const { results } = parsed.data;
  if (results.length === 0) throw protocolError(msg`The provider answered no document.`);
  if (results.some(({ index }) => index < 0 || index >= documents.length)) {
    throw protocolError(msg`The provider answered a document that it was not given.`);
  }
  if (new Set(results.map(({ index }) => index)).size < results.length) {
    throw protocolError(msg`The provider answered the same document twice.`);
  }
  // Not every service sorts, or keeps to the number asked for.
  return results
    .map(({ index, relevance_score: score }) => ({ index, score }))
    .sort((one, other) => other.score - one.score || one.index - other.index)
    .slice(0, topN);
}

/** What services report, in `usage` or in `meta` (Cohere); the first number that is there. */
export function usageIn(answer: unknown): Usage | undefined {
  if (!isRecord(answer)) return undefined;
  const meta = recordIn(answer, 'meta') ?? {};
  const places = [
    recordIn(answer, 'usage'),
    recordIn(meta, 'billed_units'),
    recordIn(meta, 'tokens'),
  ];
  for (const raw of places) {
    if (!raw) continue;
    const inputTokens = ['total_tokens', 'prompt_tokens', 'input_tokens']
      .map((field) => wholeNumberIn(raw, field))
      .find((count) => count !== undefined);
    if (inputTokens !== undefined) return { inputTokens, raw };
  }
  return undefined;
}

const VALID_MS = 3 * 60_000;

/**
 * The bearer token of one call to Zhipu: a key of the form `id.secret` becomes a JWT that the secret signs (HS256), its
 * times in milliseconds unlike in RFC 7519. A key of another form is sent as it is.
 */
export function zhipuToken(credential: string, now = Date.now()): string {
  const [, id, secret] = /^([^.\s]+)\.([^.\s]+)$/.exec(credential.trim()) ?? [];
  if (id === undefined || secret === undefined) return credential;
  const header = { alg: 'HS256', typ: undefined, sign_type: 'SIGN' };
  const claims = { api_key: id, exp: now + VALID_MS, timestamp: now };
  return jwt.sign(claims, secret, { header, noTimestamp: true });
}
