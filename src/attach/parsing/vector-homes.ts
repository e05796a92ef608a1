import { Injectable, Logger } from '@nestjs/common';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { msg } from '../../platform/message/index.js';
import { HealthService, Metrics } from '../../platform/observability/index.js';
import type { VectorNotice } from '../../platform/observability/index.js';
import { AbsentStoreError, VectorStores } from '../../vector-store/index.js';
import type { StoreOfBase, VectorScope } from '../../vector-store/index.js';
import { VectorHomesRepository } from './vectors.repository.js';

/** Lifetime of cached counts of bases, because readiness is public and requested often. */
const COUNTED_FOR_MS = 5_000;

/** Bases whose vectors are in another store than the one that new bases like them get. */
interface BasesElsewhere {
  readonly from: string;
  readonly to: string;
  /** Whether the store that holds the vectors runs here. */
  readonly runs: boolean;
  readonly bases: number;
}

/**
 * Assigns each knowledge base the store that holds its vectors (`vectorStore`). The choice is made with the first
 * fragment and stays when QDRANT_URL is set or removed, so that no document is embedded again without a request: only
 * `reindex` moves a base. Bases of earlier releases get the store in which their vectors are found.
 */
@Injectable()
export class VectorHomes {
  private readonly logger = new Logger('VectorStore');
  private counted:
    | { readonly until: number; readonly answer: Promise<BasesElsewhere[]> }
    | undefined;

  constructor(
    private readonly stores: VectorStores,
    private readonly repository: VectorHomesRepository,
    health: HealthService,
    metrics: Metrics,
  ) {
    health.noteVectorStore(() => this.notice());
    metrics.gauge(
      'plinth_bases_in_other_store',
      'Knowledge bases whose vectors are in another store than the configured one',
      async () => sumOf(await this.elsewhere()),
    );
  }

  /** The base with its home. Rejects with AbsentStoreError when that store does not run here. */
  async claim(knowledge: KnowledgeBase, signal: AbortSignal): Promise<KnowledgeBase> {
    const { tenantId, id: knowledgeId } = knowledge;
    const vectorStore = await this.assignStore({ tenantId, knowledgeId }, knowledge, signal);
    if (!this.stores.withCode(vectorStore)) throw new AbsentStoreError(vectorStore);
    return { ...knowledge, vectorStore };
  }

  /** The code of the store that holds the vectors of the base; recorded where it was not yet, and where there is no fragment. */
  async assignStore(scope: VectorScope, base: StoreOfBase, signal: AbortSignal): Promise<string> {
    const configured = this.stores.configured(base.vectorModel).code;
    if (base.vectorStore === configured) return configured;
    const isEmpty = !(await this.repository.hasFragments(scope));
    if (!isEmpty && base.vectorStore !== null) return base.vectorStore;
    const home = isEmpty ? configured : await this.locate(scope, base.vectorModel, signal);
    await this.repository.save(scope, home, base.vectorStore);
    return (await this.repository.find(scope))?.vectorStore ?? home;
  }

  /** The stores of the base as they are recorded; undefined for one that was deleted. */
  async find(scope: VectorScope): Promise<StoreOfBase | undefined> {
    return this.repository.find(scope);
  }

  /** Logs one line for each store that holds vectors of bases which would get another one now. */
  async report(): Promise<void> {
    for (const { from, to, runs, bases } of await this.elsewhere()) {
      const then = runs
        ? 'they are searched there'
        : 'they are searched by keywords only, and their documents wait';
      this.logger.warn({
        msg: `Vectors of knowledge bases are in another store; ${then} until reindex: true moves them`,
        from,
        to,
        bases,
      });
    }
  }

  /** Readiness notice about bases in other stores. */
  private async notice(): Promise<VectorNotice | undefined> {
    const all = await this.elsewhere();
    const [first] = all.toSorted((a, b) => Number(a.runs) - Number(b.runs));
    if (!first) return undefined;
    const { from, to, runs, bases } = first;
    const reason = runs
      ? msg`Knowledge bases whose vectors are in ${from}: ${bases}. New ones go to ${to}. Save a knowledge base with reindex: true to move it.`
      : msg`Knowledge bases whose vectors are in ${from}, which this installation does not run: ${bases}. Set it up again, or save them with reindex: true.`;
    return { reason, isLimited: !runs };
  }

  private async elsewhere(): Promise<BasesElsewhere[]> {
    const now = Date.now();
    if (!this.counted || this.counted.until < now) {
      this.counted = { until: now + COUNTED_FOR_MS, answer: this.count() };
      this.counted.answer.catch(() => (this.counted = undefined));
    }
    return this.counted.answer;
  }

  private async count(): Promise<BasesElsewhere[]> {
    const pairs = (await this.repository.pairs()).filter(
      ({ vectorModel, vectorStore }) => this.stores.configured(vectorModel).code !== vectorStore,
    );
    if (pairs.length === 0) return [];
    const byStores = new Map<string, BasesElsewhere>();
    for (const { vectorModel, vectorStore: from, bases } of await this.repository.countBases(
      pairs,
    )) {
      const to = this.stores.configured(vectorModel).code;
      const key = `${from} ${to}`;
      const runs = this.stores.withCode(from) !== undefined;
      byStores.set(key, { from, to, runs, bases: bases + (byStores.get(key)?.bases ?? 0) });
    }
    return [...byStores.values()];
  }

  /** The store in which there are vectors of the base, first of all the configured one. */
  private async locate(
    scope: VectorScope,
    vectorModel: string,
    signal: AbortSignal,
  ): Promise<string> {
    const configured = this.stores.configured(vectorModel);
    for (const store of new Set([configured, ...this.stores.all()])) {
      if ((await store.count(scope, undefined, signal)) > 0) return store.code;
    }
    return configured.code;
  }
}

function sumOf(all: readonly BasesElsewhere[]): number {
  return all.reduce((sum, { bases }) => sum + bases, 0);
}
