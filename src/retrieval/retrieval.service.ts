import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { LostVectors } from '../attach/index.js';
import type { Caller } from '../platform/access/index.js';
import { EmbeddingClient, ModelResolver, RerankClient } from '../model/index.js';
import type { ModelUse } from '../model/index.js';
import type { ModelUser } from '../usage/index.js';
import { unavailableError } from '../platform/database/index.js';
import { InvalidInputError, DomainError } from '../platform/error/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { ATTRIBUTE, OPERATION, recordsContent, traced } from '../platform/tracing/index.js';
import { KeywordIndex } from '../fragment/index.js';
import type { KeywordHit } from '../fragment/index.js';
import { isOfSession, NoEmbeddingModelError } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { MetadataRepository } from '../metadata/index.js';
import type { MetadataFilter } from '../metadata/index.js';
import { VectorStores } from '../vector-store/index.js';
import type { VectorHit } from '../vector-store/index.js';
import { candidatesOf, nearOf, settingsOf, withReason } from './retrieval.js';
import type {
  Candidate,
  Candidates,
  ChannelReport,
  RetrievalOverrides,
  RetrievalResult,
  RetrievalSettings,
  RetrievedFragment,
} from './retrieval.js';
import { RetrievalRepository } from './retrieval.repository.js';
import type { LiveFragment } from './retrieval.repository.js';

class EmptyQueryError extends InvalidInputError {
  constructor() {
    super(msg`query must not be empty. Enter what you are looking for.`);
  }
}

export interface RetrievalRequest {
  /** The tenant of the search. The right to read the knowledge base must be checked before. */
  readonly caller: ModelUser & Pick<Caller, 'revision' | 'subjects' | 'permissions'>;
  /** The agent that searches. */
  readonly agentId?: number | undefined;
  readonly knowledge: KnowledgeBase;
  readonly query: string;
  readonly overrides?: RetrievalOverrides;
  /** Only these fragments of the base are searched; absent: all. */
  readonly fragmentIds?: readonly number[] | undefined;
  /** Only these documents of the base are searched; absent: all. */
  readonly attachmentIds?: readonly number[] | undefined;
  /** Restricts the search to documents whose metadata fits when the search begins. */
  readonly filter?: MetadataFilter | undefined;
  /** Whether to return the dropped candidates with the reason. */
  readonly explain?: boolean;
  readonly signal: AbortSignal;
}

/** The hits of one channel, its duration and failure. */
interface ChannelResult<Hit> {
  readonly hits: readonly Hit[];
  readonly report: ChannelReport;
  readonly error?: Error;
}

/** The report of a channel that had nothing to search. */
const UNSEARCHED: ChannelResult<never> = { hits: [], report: { hits: 0, milliseconds: 0 } };

interface Channels {
  readonly vector: ChannelResult<VectorHit>;
  readonly keyword: ChannelResult<KeywordHit> | null;
}

/** The channels with their candidates, and the fragments of those that exist. */
interface Search extends Channels {
  readonly candidates: Candidates;
  readonly live: ReadonlyMap<number, LiveFragment>;
}

/** The candidates in their final order. */
interface Ranking {
  readonly state: RetrievalResult['rerank'];
  readonly selected: readonly RetrievedFragment[];
  readonly dropped: readonly RetrievedFragment[];
  /** Reason why all or some results are in the order before the reranker. */
  readonly notice?: Message;
}

const CACHED_QUERIES = 2_000;

/** Hits of deleted documents displace live ones; a search is repeated at most this often to replace them. */
const REFILLS = 3;

const INCOMPLETE = msg`Vector search is incomplete, because vectors of the knowledge base were lost and are being made again. Fragments may be missing from this result until that is done.`;

/** Characters of a question that are searched for; the rest adds no information. */
const MAX_QUERY_CHARS = 4_000;

/**
 * Finds the fragments of one knowledge base that answer a question: vector search, keyword search if the base is
 * hybrid, fusion, and a reranker if enabled. The result includes an explanation.
 */
@Injectable()
export class RetrievalService {
  private readonly logger = new Logger('Retrieval');
  /** Vectors of questions by model and revision of the tenant: they depend on nothing else. */
  private readonly vectors = new LRUCache<string, Float32Array>({ max: CACHED_QUERIES });

  constructor(
    private readonly models: ModelResolver,
    private readonly embedder: EmbeddingClient,
    private readonly reranker: RerankClient,
    private readonly stores: VectorStores,
    private readonly keywords: KeywordIndex,
    private readonly repository: RetrievalRepository,
    private readonly metadata: MetadataRepository,
    private readonly lost: LostVectors,
  ) {}

  /**
   * The best fragments, at most the limit of the settings. If one of two channels fails, the result of the other one is
   * returned with a notice; if the reranker fails, the order before it. Rejects when no channel succeeded.
   */
  async retrieve(input: RetrievalRequest): Promise<RetrievalResult> {
    const { caller, knowledge } = input;
    const attributes = () => ({
      [ATTRIBUTE.operation]: OPERATION.retrieval,
      [ATTRIBUTE.dataSourceId]: String(knowledge.id),
      [ATTRIBUTE.tenantId]: caller.tenantId,
    });
    return traced(OPERATION.retrieval, { attributes }, async (span) => {
      const result = await this.find(input);
      span?.set({ [ATTRIBUTE.hits]: result.fragments.length });
      if (recordsContent(span, caller.tenantId))
        span.set({ [ATTRIBUTE.retrievalQuery]: input.query });
      return result;
    });
  }

  private async find(input: RetrievalRequest): Promise<RetrievalResult> {
    const query = input.query.trim().slice(0, MAX_QUERY_CHARS);
    if (query === '') throw new EmptyQueryError();
    const request = { ...input, query, attachmentIds: await this.documentsOf(input) };
    const settings = settingsOf(request.knowledge, request.overrides ?? {});
    const { vector: searched, keyword, candidates, live } = await this.search(request, settings);
    const vector = await this.withLoss(searched, request);
    const { selected, dropped, belowThreshold } = candidates;
    request.signal.throwIfAborted();
    const ranking = await this.ranked(fragmentsOf(selected, live), request, settings);
    const notices = [
      request.attachmentIds?.length === 0 && input.filter ? NO_DOCUMENT : undefined,
      failureNotice(msg`Vector`, vector),
      failureNotice(msg`Keyword`, keyword),
      vector.report.incomplete ? INCOMPLETE : undefined,
      ranking.notice,
      selected.length === 0 && belowThreshold.count > 0 ? thresholdNotice(settings) : undefined,
    ];
    const scale = scaleOf(settings, ranking.state);
    const answered = request.explain
      ? await this.withWords(
          [...ranking.selected, ...ranking.dropped, ...fragmentsOf(dropped, live)],
          request,
        )
      : ranking.selected;
    const scored = answered.map((fragment) => withVectorScore(fragment, scale));
    return {
      fragments: scored.slice(0, ranking.selected.length),
      dropped: scored.slice(ranking.selected.length),
      belowThreshold,
      settings,
      scale,
      channels: {
        vector: { ...vector.report, hits: nearOf(vector.hits, settings.threshold).length },
        keyword: keyword?.report ?? null,
      },
      rerank: ranking.state,
      notices: notices.filter((notice) => notice !== undefined),
    };
  }

  /**
   * The documents that the request is limited to; undefined without a limit. A base without lists of readers asks for none, and
   * one whose lists all have the caller is searched as a whole.
   */
  private async documentsOf({
    caller,
    knowledge,
    filter,
    attachmentIds,
  }: RetrievalRequest): Promise<readonly number[] | undefined> {
    const isLimited =
      filter !== undefined ||
      (knowledge.restricted && (await this.metadata.hidesSome(caller, knowledge)));
    if (!isLimited) return attachmentIds;
    const fitting = await this.metadata.documents(caller, knowledge, filter);
    const requestedIds = attachmentIds && new Set(attachmentIds);
    return requestedIds ? fitting.filter((id) => requestedIds.has(id)) : fitting;
  }

  /**
   * Both channels in parallel, and the fragments of their candidates. Whether all hits exist is asked only when one of
   * the candidates does not, because it takes the embedded store 70 µs a hit (measured); then without deleted fragments,
   * repeated with a larger pool if those displaced live ones.
   */
  private async search(request: RetrievalRequest, settings: RetrievalSettings): Promise<Search> {
    const { signal } = request;
    if (request.attachmentIds?.length === 0) {
      const keyword = settings.enableHybrid ? UNSEARCHED : null;
      return this.withFragments({ vector: UNSEARCHED, keyword }, request, settings);
    }
    let pool = settings.depth;
    for (let refill = 0; ; refill += 1) {
      const [vector, keyword] = await Promise.all([
        this.channel('vector search', () => this.nearest(request, pool)),
        settings.enableHybrid
          ? this.channel('keyword search', () => this.matching(request, pool))
          : null,
      ]);
      signal.throwIfAborted();
      if (vector.error !== undefined && !keyword?.hits.length) throw vector.error;
      const search = await this.withFragments({ vector, keyword }, request, settings);
      const { candidates, live } = search;
      if (candidates.selected.every(({ fragmentId }) => live.has(fragmentId))) return search;
      const hits = [...vector.hits, ...(keyword?.hits ?? [])];
      const existing = await this.existing(request, hits);
      const dead = hits.filter(({ fragmentId }) => !existing.has(fragmentId)).length;
      const full = vector.hits.length >= pool || (keyword?.hits.length ?? 0) >= pool;
      if (dead === 0 || !full || refill === REFILLS) {
        const { depth } = settings;
        const channels = {
          vector: alive(vector, existing, depth),
          keyword: keyword && alive(keyword, existing, depth),
        };
        return this.withFragments(channels, request, settings);
      }
      pool += dead * 2;
    }
  }

  /** The candidates of the channels, and the fragments of those that the result may show. */
  private async withFragments(
    channels: Channels,
    request: RetrievalRequest,
    settings: RetrievalSettings,
  ): Promise<Search> {
    const hits = { vector: channels.vector.hits, keyword: channels.keyword?.hits ?? [] };
    const candidates = candidatesOf(hits, settings);
    const { selected, dropped } = candidates;
    const live = await this.liveOf(request, request.explain ? [...selected, ...dropped] : selected);
    return { ...channels, candidates, live };
  }

  /** Says in the report of the vector channel if vectors of the base are missing. */
  private async withLoss(
    vector: ChannelResult<VectorHit>,
    { knowledge, fragmentIds, attachmentIds }: RetrievalRequest,
  ): Promise<ChannelResult<VectorHit>> {
    const isWhole = !fragmentIds && !attachmentIds;
    const isEmpty = isWhole && !vector.error && vector.hits.length === 0;
    const hasModel = knowledge.embeddingModel !== '';
    const incomplete =
      knowledge.vectorsLostAt !== null ||
      (isEmpty && hasModel && (await this.lost.explainEmpty(knowledge)));
    return incomplete ? { ...vector, report: { ...vector.report, incomplete } } : vector;
  }

  private async nearest(request: RetrievalRequest, limit: number): Promise<VectorHit[]> {
    const { caller, knowledge, signal, fragmentIds, attachmentIds } = request;
    if (knowledge.embeddingModel === '') {
      // The base of a chat session may have no vectors; words alone find its fragments.
      if (isOfSession(knowledge)) return [];
      throw new NoEmbeddingModelError(knowledge.name);
    }
    const vector = await this.vectorOf(request);
    const scope = { tenantId: caller.tenantId, knowledgeId: knowledge.id };
    const search = { vector, limit, fragmentIds, attachmentIds };
    return this.stores.of(knowledge).search(scope, search, signal);
  }

  private async matching(
    { caller, knowledge, query, signal, fragmentIds, attachmentIds }: RetrievalRequest,
    limit: number,
  ): Promise<KeywordHit[]> {
    const scope = { tenantId: caller.tenantId, knowledgeId: knowledge.id };
    const options = { signal, fragmentIds, attachmentIds };
    return this.keywords.search(scope, query, limit, options);
  }

  /** Adds to what the keyword channel has found the words by which it did, as the fragments have them. */
  private async withWords(
    fragments: readonly RetrievedFragment[],
    { caller, knowledge, query }: RetrievalRequest,
  ): Promise<RetrievedFragment[]> {
    const scope = { tenantId: caller.tenantId, knowledgeId: knowledge.id };
    const keywordHits = fragments.filter(({ explanation }) => explanation.keyword);
    if (keywordHits.length === 0) return [...fragments];
    const texts = keywordHits.map(({ content }) => content);
    const words = await this.keywords.matchedWords(scope, query, texts);
    const wordsOf = new Map(keywordHits.map(({ fragmentId }, at) => [fragmentId, words[at] ?? []]));
    return fragments.map((fragment) => {
      const { keyword } = fragment.explanation;
      if (!keyword) return fragment;
      const explained = { ...keyword, words: wordsOf.get(fragment.fragmentId) ?? [] };
      return { ...fragment, explanation: { ...fragment.explanation, keyword: explained } };
    });
  }

  private async channel<Hit>(
    name: string,
    search: () => Promise<Hit[]>,
  ): Promise<ChannelResult<Hit>> {
    const began = performance.now();
    const took = (): number => Math.round((performance.now() - began) * 10) / 10;
    try {
      const hits = await traced(name, {}, async (span) => {
        const results = await search();
        span?.set({ [ATTRIBUTE.hits]: results.length });
        return results;
      });
      return { hits, report: { hits: hits.length, milliseconds: took() } };
    } catch (caught) {
      const error = unavailableError(caught) ?? caught;
      if (!(error instanceof DomainError)) {
        this.logger.error({ msg: 'Retrieval channel failed', err: error });
      }
      const failure =
        error instanceof DomainError ? error.userMessage : msg`The log has the reason.`;
      const report = { hits: 0, milliseconds: took(), failure };
      return { hits: [], report, error: asError(error) };
    }
  }

  private async ranked(
    candidates: readonly RetrievedFragment[],
    request: RetrievalRequest,
    settings: RetrievalSettings,
  ): Promise<Ranking> {
    if (settings.enableRerank && candidates.length > 0) {
      return this.reranked(candidates, request, settings);
    }
    return { state: 'off', ...cut(candidates, settings) };
  }

  /** Orders by the model's score, drops scores below the saved rerank threshold, and cuts to the limit. */
  private async reranked(
    candidates: readonly RetrievedFragment[],
    { caller, agentId, query, signal }: RetrievalRequest,
    settings: RetrievalSettings,
  ): Promise<Ranking> {
    try {
      if (settings.rerankModel === '') throw new NoRerankModelError();
      const model = await this.models.resolveRerankOf(caller, settings.rerankModel);
      const documents = candidates.map(({ content }) => content);
      // Every candidate is scored, for the explanation and the threshold.
      const ranked = await this.reranker.rerank(model, query, documents, {
        use: useOf(caller, agentId),
        topN: documents.length,
        signal,
      });
      return rerankedBy(candidates, ranked, settings);
    } catch (error) {
      if (signal.aborted) throw error;
      return this.fallback(candidates, settings, error);
    }
  }

  /** The rerank threshold is on the reranker's scale, so it does not apply here. */
  private fallback(
    candidates: readonly RetrievedFragment[],
    settings: RetrievalSettings,
    error: unknown,
  ): Ranking {
    this.logger.warn({ msg: 'Reranking failed', err: error });
    const reason = error instanceof DomainError ? error.userMessage : msg`The log has the reason.`;
    return {
      state: 'fallback',
      ...cut(candidates, settings),
      notice: sentences([msg`Reranking failed, so the order before it is shown.`, reason]),
    };
  }

  private async vectorOf({
    caller,
    agentId,
    knowledge,
    query,
    signal,
  }: RetrievalRequest): Promise<Float32Array> {
    const model = await this.models.resolveEmbeddingOf(caller, knowledge.embeddingModel);
    const key = `${model.id} ${caller.revision} ${query}`;
    const cachedVector = this.vectors.get(key);
    if (cachedVector) return cachedVector;
    const use = useOf(caller, agentId);
    const [vector] = await this.embedder.embed(model, [query], { use, signal, purpose: 'query' });
    if (!vector) throw new Error('The embedding model returned no vector.');
    this.vectors.set(key, vector);
    return vector;
  }

  /** Existing fragments of the hits, restricted to the requested documents, whatever the store returned. */
  private async liveOf(
    { knowledge, attachmentIds }: RetrievalRequest,
    hits: readonly FragmentHit[],
  ): Promise<Map<number, LiveFragment>> {
    const rows = await this.repository.live(knowledge, idsOf(hits));
    const requested = wantedOf(rows, attachmentIds);
    return new Map(requested.map((fragment) => [fragment.fragmentId, fragment]));
  }

  /** The ids of these fragments alone. */
  private async existing(
    { caller, knowledge, attachmentIds }: RetrievalRequest,
    hits: readonly FragmentHit[],
  ): Promise<ReadonlySet<number>> {
    const rows = await this.repository.existing(caller.tenantId, knowledge.id, idsOf(hits));
    return new Set(wantedOf(rows, attachmentIds).map(({ fragmentId }) => fragmentId));
  }
}

function useOf(caller: RetrievalRequest['caller'], agentId: number | undefined): ModelUse {
  return { caller, feature: 'retrieval', agentId };
}

interface FragmentHit {
  readonly fragmentId: number;
}

/** Both channels may have found the same fragment. */
function idsOf(hits: readonly FragmentHit[]): number[] {
  return [...new Set(hits.map(({ fragmentId }) => fragmentId))];
}

function wantedOf<Row extends { readonly attachmentId: number }>(
  rows: readonly Row[],
  attachmentIds: readonly number[] | undefined,
): readonly Row[] {
  const requestedIds = attachmentIds && new Set(attachmentIds);
  return requestedIds ? rows.filter(({ attachmentId }) => requestedIds.has(attachmentId)) : rows;
}

const NO_DOCUMENT = msg`No document of the knowledge base has metadata that fits the filter. Check its keys, values and their types.`;

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('Unknown failure', { cause: error });
}

function alive<Hit extends FragmentHit>(
  channel: ChannelResult<Hit>,
  live: ReadonlySet<number>,
  depth: number,
): ChannelResult<Hit> {
  const hits = channel.hits.filter(({ fragmentId }) => live.has(fragmentId)).slice(0, depth);
  return { ...channel, hits, report: { ...channel.report, hits: hits.length } };
}

function fragmentsOf(
  candidates: readonly Candidate[],
  live: ReadonlyMap<number, LiveFragment>,
): RetrievedFragment[] {
  return candidates.flatMap((candidate): RetrievedFragment[] => {
    const fragment = live.get(candidate.fragmentId);
    return fragment ? [{ ...fragment, ...candidate }] : [];
  });
}

function withVectorScore(
  fragment: RetrievedFragment,
  scale: RetrievalResult['scale'],
): RetrievedFragment {
  const { vector } = fragment.explanation;
  return scale === 'cosine' || !vector ? fragment : { ...fragment, rawScore: vector.score };
}

function failureNotice(
  channel: Message,
  result: ChannelResult<unknown> | null,
): Message | undefined {
  if (result?.report.failure === undefined) return undefined;
  return sentences([
    msg`${channel} search failed and is missing from this result.`,
    result.report.failure,
  ]);
}

/** The same for every question, because an evaluation counts how often a notice occurs. */
function thresholdNotice({ threshold }: RetrievalSettings): Message {
  return msg`Every fragment found is below the similarity threshold ${threshold}. Lower the threshold to see them; belowThreshold has the best similarity.`;
}

function scaleOf(
  settings: RetrievalSettings,
  rerank: RetrievalResult['rerank'],
): RetrievalResult['scale'] {
  if (rerank === 'applied') return 'rerank';
  return settings.enableHybrid ? 'fusion' : 'cosine';
}

function cut(
  candidates: readonly RetrievedFragment[],
  { limit }: RetrievalSettings,
): Pick<Ranking, 'selected' | 'dropped'> {
  return {
    selected: candidates.slice(0, limit),
    dropped: candidates.slice(limit).map((one) => withReason(one, `beyond the first ${limit}`)),
  };
}

/** Best first; the fragments that the model has not scored follow in the order before it, with its lowest score. */
function rerankedBy(
  candidates: readonly RetrievedFragment[],
  ranked: readonly { readonly index: number; readonly score: number }[],
  { limit, rerankScoreThreshold }: RetrievalSettings,
): Ranking {
  const reranked: RetrievedFragment[] = [];
  const dropped: RetrievedFragment[] = [];
  const unranked = new Map(candidates.entries());
  for (const [place, { index, score }] of ranked.entries()) {
    const candidate = unranked.get(index);
    if (!candidate) continue;
    unranked.delete(index);
    const fragment = scored(candidate, { score, index, rank: place + 1 });
    if (rerankScoreThreshold !== undefined && score < rerankScoreThreshold) {
      dropped.push(
        withReason(fragment, `rerank score below the threshold ${rerankScoreThreshold}`),
      );
    } else if (reranked.length >= limit) {
      dropped.push(withReason(fragment, `beyond the first ${limit}`));
    } else reranked.push(fragment);
  }
  if (unranked.size === 0) return { state: 'applied', selected: reranked, dropped };
  // Results without a score cannot be compared with a threshold.
  if (rerankScoreThreshold !== undefined) {
    dropped.push(
      ...[...unranked.values()].map((one) => withReason(one, 'left out by the rerank model')),
    );
    return { state: 'applied', selected: reranked, dropped };
  }
  const lowest = ranked.at(-1)?.score ?? 0;
  for (const [index, candidate] of unranked) {
    const fragment = { ...candidate, score: lowest, originalIndex: index };
    if (reranked.length < limit) reranked.push(fragment);
    else dropped.push(withReason(fragment, `beyond the first ${limit}`));
  }
  const notice = msg`The rerank model scored ${ranked.length} of ${candidates.length} fragments. The others follow in the order before it.`;
  return { state: 'applied', selected: reranked, dropped, notice };
}

class NoRerankModelError extends InvalidInputError {
  constructor() {
    super(msg`Reranking is on, but no rerank model is chosen. Choose a model of category rerank.`);
  }
}

function scored(
  candidate: RetrievedFragment,
  { score, index, rank }: { readonly score: number; readonly index: number; readonly rank: number },
): RetrievedFragment {
  return {
    ...candidate,
    score,
    originalIndex: index,
    explanation: { ...candidate.explanation, rerank: { rank, score } },
  };
}
