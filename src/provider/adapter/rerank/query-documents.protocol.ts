import { z } from 'zod';
import jwt from 'jsonwebtoken';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY, parseAddress } from '../address.js';
import { bearerOf, billedUsage, postForJson } from '../model-call.js';
import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import { NamedAdapter } from '../named-adapter.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError, UpstreamError } from '../upstream.error.js';
import { throwIfError, isRecord, recordIn, wholeNumberIn } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import type { RankedDocument, RerankAdapter, RerankAnswer, RerankCall } from './rerank.adapter.js';

export interface QueryDocumentsOptions extends Vendor {
  readonly endpoint: '/rerank' | '/reranks';
  readonly maxDocuments: number;
  /** The form of the request; `usual` when absent. */
  readonly dialect?: RerankDialect;
  /** The models that support only the native form of DashScope. */
  readonly nativeModels?: RegExp;
  /** Makes the bearer token of one call from the credential; without it the credential is the token. */
  readonly tokenOf?: (credential: string) => string;
}

/** The form that rerank services share: POST {address}/rerank with a query and its documents, and a bearer key. */
export class QueryDocumentsAdapter extends NamedAdapter implements RerankAdapter {
  readonly maxDocuments: number;

  constructor(
    private readonly http: OutboundHttp,
    private readonly options: QueryDocumentsOptions,
  ) {
    super(options);
    this.maxDocuments = options.maxDocuments;
  }

  endpoint(address: string, model = ''): string {
    const { address: form, endpoint, nativeModels } = this.options;
    if (isNative(address)) return endpointOf(address, { ...form, endpoint: NATIVE_ENDPOINT });
    if (nativeModels?.test(model)) {
      return `${parseAddress(address).origin}${NATIVE_PREFIX}${NATIVE_ENDPOINT}`;
    }
    const addressForm = { ...FAMILY, ...form, endpoint };
    // Servers of one model have the endpoint at the root.
    return endpointOf(address, isAtRoot(address) ? { ...addressForm, prefix: '' } : addressForm);
  }

  async rerank(
    call: RerankCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<RerankAnswer> {
    const { findings } = options;
    const dialect = this.dialectOf(call, connection, findings?.facts.get(RERANK_DIALECT));
    try {
      return await this.post(call, connection, options, dialect);
    } catch (error) {
      const wanted = dialect === 'usual' ? dialectWantedBy(error) : undefined;
      if (wanted === undefined) throw error;
      const answer = await this.post(call, connection, options, wanted);
      await findings?.keep(new Map([[RERANK_DIALECT, wanted]]));
      return answer;
    }
  }

  private async post(
    call: RerankCall,
    connection: ModelConnection,
    options: ModelCallOptions,
    dialect: RerankDialect,
  ): Promise<RerankAnswer> {
    const token = this.token(connection);
    const secrets = { ...connection, token };
    const request = {
      url: this.endpoint(connection.address, call.model),
      headers: bearerOf(token),
      body: toRerankBody(call, dialect),
      secrets,
    };
    const answer = await postForJson(this.http, request, options);
    const usage = usageIn(answer);
    return { ranked: toRankedDocuments(answer, call, secrets), ...(usage && { usage }) };
  }

  private dialectOf(
    { model }: RerankCall,
    { address }: ModelConnection,
    learned: unknown,
  ): RerankDialect {
    if (isNative(this.endpoint(address, model))) return 'dashscope';
    return this.options.dialect ?? LEARNED.find((dialect) => dialect === learned) ?? 'usual';
  }

  private token({ credential }: ModelConnection): string | undefined {
    const { tokenOf } = this.options;
    return credential === undefined || !tokenOf ? credential : tokenOf(credential);
  }
}

/**
 * Request forms of these services: `usual` (vLLM, Infinity, Jina, SiliconFlow and most others), `cohere` (v2, which
 * has no `return_documents`), `voyage` (another name of the limit), `tei` (another name of the documents, and no limit) and
 * `dashscope` (its native form, nested).
 */
export type RerankDialect = 'usual' | 'cohere' | 'voyage' | 'tei' | 'dashscope';

/** The name of the finding that says which dialect a service of any kind speaks, and its values. */
export const RERANK_DIALECT = 'rerankDialect';
const LEARNED = ['tei', 'dashscope'] as const satisfies readonly RerankDialect[];

/** The native endpoint of DashScope, the only one for some of its models. */
const NATIVE_ENDPOINT = '/services/rerank/text-rerank/text-rerank';
const NATIVE_PREFIX = '/api/v1';

function isNative(address: string): boolean {
  return parseAddress(address).pathname.includes('/services/rerank');
}

function isAtRoot(address: string): boolean {
  return /^\/+reranks?\/*$/.test(parseAddress(address).pathname);
}

/** The dialect of a service that refuses a request because it misses its own name of the documents. */
function dialectWantedBy(error: unknown): (typeof LEARNED)[number] | undefined {
  if (!(error instanceof UpstreamError) || (error.status !== 400 && error.status !== 422)) {
    return undefined;
  }
  const missing = /missing|required/i.test(error.vendorText ?? '');
  if (missing && /\btexts\b/.test(error.vendorText ?? '')) return 'tei';
  if (missing && /\binput\b/.test(error.vendorText ?? '')) return 'dashscope';
  return undefined;
}

/** The body of a call; the texts are not wanted back. */
export function toRerankBody(
  { model, query, documents, topN }: RerankCall,
  dialect: RerankDialect = 'usual',
): Record<string, unknown> {
  switch (dialect) {
    case 'usual':
      return { model, query, documents, top_n: topN, return_documents: false };
    case 'cohere':
      return { model, query, documents, top_n: topN };
    case 'voyage':
      return { model, query, documents, top_k: topN, return_documents: false };
    case 'tei':
      // The server has one model; gateways in front of it read the name.
      return { model, query, texts: documents, return_text: false, truncate: true };
    case 'dashscope':
      return {
        model,
        input: { query, documents },
        parameters: { top_n: topN, return_documents: false },
      };
  }
}

/** The fields read. A score that is no finite number does not pass. */
const rankedSchema = z.array(
  z
    .looseObject({
      index: z.number().int(),
      relevance_score: z.number().optional(),
      score: z.number().optional(),
      logit: z.number().optional(),
    })
    .transform(({ index, relevance_score: relevance, score, logit }) => ({
      index,
      score: relevance ?? score ?? logit ?? NaN,
    }))
    .refine(({ score }) => Number.isFinite(score)),
);

/** The ranked documents of an answer, in `results` (most), `data` (Voyage), `rankings` (NIM), `output.results` (DashScope), or the answer itself (TEI). */
function rowsIn(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  const output = recordIn(answer, 'output');
  return answer['results'] ?? answer['data'] ?? answer['rankings'] ?? output?.['results'];
}

/** Maps an answer to at most `topN` documents, best first. Throws UpstreamError. */
export function toRankedDocuments(
  answer: unknown,
  { documents, topN }: Pick<RerankCall, 'documents' | 'topN'>,
  secrets: Secrets,
): readonly RankedDocument[] {
  throwIfError(answer, secrets);
  const parsed = rankedSchema.safeParse(rowsIn(answer));
  if (!parsed.success) {
    throw protocolError(
      msg`The provider answered without a score for each document.`,
      parsed.error,
    );
  }
  const results = parsed.data;
  if (results.length === 0) throw protocolError(msg`The provider answered no document.`);
  if (results.some(({ index }) => index < 0 || index >= documents.length)) {
    throw protocolError(msg`The provider answered a document that it was not given.`);
  }
  if (new Set(results.map(({ index }) => index)).size < results.length) {
    throw protocolError(msg`The provider answered the same document twice.`);
  }
  // Some services do not sort, or return more than the requested number.
  return results
    .sort((one, other) => other.score - one.score || one.index - other.index)
    .slice(0, topN);
}

/** The usage that services report in `usage` or `meta` (Cohere); the first number present counts. */
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
    if (inputTokens !== undefined) return { inputTokens, billed: billedUsage(raw), raw };
  }
  return undefined;
}

const VALID_MS = 3 * 60_000;

/**
 * The bearer token of one call to Zhipu: a key of the form `id.secret` becomes a JWT signed with the secret (HS256), its
 * times in milliseconds unlike in RFC 7519. A key of another form is sent as it is.
 */
export function zhipuToken(credential: string, now = Date.now()): string {
  const [, id, secret] = /^([^.\s]+)\.([^.\s]+)$/.exec(credential.trim()) ?? [];
  if (id === undefined || secret === undefined) return credential;
  const header = { alg: 'HS256', typ: undefined, sign_type: 'SIGN' };
  const claims = { api_key: id, exp: now + VALID_MS, timestamp: now };
  return jwt.sign(claims, secret, { header, noTimestamp: true });
}
