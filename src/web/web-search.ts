import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { groupIdsOf } from '../platform/access/index.js';
import { ForbiddenAddressError, OutboundError, OutboundHttp } from '../platform/outbound/index.js';
import type { OutboundTimeouts } from '../platform/outbound/index.js';
import { LimitRepository, UsageLedger, UsageLimiter } from '../usage/index.js';
import type { Feature, ModelUser, UsageEntry } from '../usage/index.js';
import { readSearchAnswer, SEARCH_ADAPTERS } from './search.adapters.js';
import type { SearchResult } from './search.adapters.js';
import { NoSearchProviderError, SearchFailedError } from './search.errors.js';
import type { SearchProvider } from './search-provider.entity.js';
import { SearchProviderRepository } from './search-provider.repository.js';

const TIMEOUTS: OutboundTimeouts = { connectMs: 5_000, idleMs: 12_000, totalMs: 15_000 };
const MAX_ANSWER_BYTES = 2 * 2 ** 20;

/** A search, and on whose behalf it is made. */
export interface WebSearchRequest {
  readonly caller: ModelUser;
  readonly agentId?: number | undefined;
  readonly feature: Feature;
  readonly query: string;
  readonly count: number;
  readonly signal: AbortSignal;
}

/** Searches the web with the providers of the tenant. Every search is a row of the usage ledger, failed ones without a cost. */
@Injectable()
export class WebSearch {
  private readonly logger = new Logger('WebSearch');

  constructor(
    private readonly repository: SearchProviderRepository,
    private readonly http: OutboundHttp,
    private readonly limits: LimitRepository,
    private readonly limiter: UsageLimiter,
    private readonly ledger: UsageLedger,
  ) {}

  /** Whether the tenant has an enabled provider. Without one no tool of the web is offered. */
  async isEnabled(tenantId: string): Promise<boolean> {
    return (await this.repository.enabled(tenantId)).length > 0;
  }

  /** Fails with NoSearchProviderError where the web is switched off. */
  async requireEnabled(tenantId: string): Promise<void> {
    if (!(await this.isEnabled(tenantId))) throw new NoSearchProviderError();
  }

  /**
   * The results of the first enabled provider that answers, best first; an empty list is an answer. Rejects with the
   * failure of the last provider, NoSearchProviderError or LimitReachedError, each a DomainError.
   */
  async search(request: WebSearchRequest): Promise<readonly SearchResult[]> {
    const { signal, caller } = request;
    let failure: Error = new NoSearchProviderError();
    for (const provider of await this.repository.enabled(caller.tenantId)) {
      try {
        return await this.ask(provider, request);
      } catch (error) {
        signal.throwIfAborted();
        if (!isFailureOfService(error)) throw error;
        this.logger.warn({ msg: 'Search provider failed', providerId: provider.id, err: error });
        failure = error;
      }
    }
    throw failure;
  }

  /** One search of one provider: reserved against the budgets of the caller, made, and recorded. */
  async ask(provider: SearchProvider, request: WebSearchRequest): Promise<readonly SearchResult[]> {
    const reservation = await this.reserve(provider, request);
    const started = performance.now();
    const callTime = new Date().toISOString();
    let outcome = 'ok';
    try {
      return await this.call(provider, request);
    } catch (error) {
      outcome = request.signal.aborted ? 'aborted' : outcomeOf(error);
      throw error;
    } finally {
      const durationMs = Math.round(performance.now() - started);
      const entry = entryOf(provider, request, { callTime, outcome, durationMs, reservation });
      if (reservation === undefined) this.ledger.enter(entry);
      else this.limiter.settle(entry);
    }
  }

  /** Only budgets of costs count searches. Limits of a model do not: a search has none. */
  private async reserve(
    { tenantId, price }: SearchProvider,
    { caller }: WebSearchRequest,
  ): Promise<string | undefined> {
    const limits = (await this.limits.set(tenantId)).filter(
      ({ measure, scope }) => measure.startsWith('cost-') && scope !== 'model',
    );
    return this.limiter.reserve({
      model: { id: NO_MODEL, tenantId, limits },
      caller,
      number: 1,
      isRepeat: false,
      worst: { inputTokens: 0, outputTokens: 0, cost: price ?? 0 },
    });
  }

  private async call(
    provider: SearchProvider,
    { query, count, signal }: WebSearchRequest,
  ): Promise<readonly SearchResult[]> {
    const { code, address, apiKey: sealed, tenantId } = provider;
    const apiKey =
      sealed === null ? undefined : this.repository.keys.open(tenantId, address, sealed);
    const { url, ...request } = SEARCH_ADAPTERS[code].request({ query, count, address, apiKey });
    const response = await this.http.request(url, {
      ...request,
      headers: { accept: 'application/json', ...request.headers },
      signal,
      timeouts: TIMEOUTS,
    });
    const text = await response.text(MAX_ANSWER_BYTES);
    return readSearchAnswer(code, { status: response.status, text }).slice(0, count);
  }
}

/** The id of the model in rows of the usage ledger for searches. */
const NO_MODEL = 0;

interface EndedSearch {
  readonly callTime: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly reservation: string | undefined;
}

function entryOf(
  { tenantId, name, code, price }: SearchProvider,
  { caller, agentId, feature }: WebSearchRequest,
  { callTime, outcome, durationMs, reservation }: EndedSearch,
): UsageEntry {
  const groupIds = groupIdsOf(caller);
  const isPaid = outcome === 'ok';
  return {
    id: reservation ?? randomUUID(),
    tenant_id: tenantId,
    call_time: callTime,
    user_id: caller.userId,
    api_key_id: caller.apiKey?.id ?? null,
    ...(groupIds.length > 0 && { group_ids: groupIds }),
    ...(caller.tags && { tags: [...caller.tags] }),
    door: caller.origin,
    feature,
    agent_id: agentId ?? null,
    asked_model: name,
    model_id: NO_MODEL,
    model_name: name,
    provider_code: code,
    kind: 'search',
    attempt: 1,
    outcome,
    estimated: false,
    ...NO_UNITS,
    web_searches: isPaid ? 1 : 0,
    ...((price !== null || !isPaid) && { cost: isPaid ? (price ?? 0) : 0 }),
    duration_ms: durationMs,
    ...(reservation !== undefined && { limited: true }),
  };
}

const NO_UNITS = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cache_write_tokens: 0,
  cache_write_hour_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
  code_runs: 0,
  service_tier: null,
  service_cost: null,
  service_currency: null,
  images: 0,
  seconds: 0,
  characters: 0,
  price_version: null,
  first_token_ms: null,
} as const;

/** Failures after which another provider may answer. */
function isFailureOfService(
  error: unknown,
): error is SearchFailedError | OutboundError | ForbiddenAddressError {
  return (
    error instanceof SearchFailedError ||
    error instanceof OutboundError ||
    error instanceof ForbiddenAddressError
  );
}

function outcomeOf(error: unknown): string {
  if (error instanceof SearchFailedError) return error.failure;
  return error instanceof OutboundError ? error.kind : 'error';
}
