import type { Schemas } from '@qdrant/js-client-rest';
import { Dependencies } from '../../platform/dependency/index.js';
import type { Dependency } from '../../platform/dependency/index.js';
import { msg } from '../../platform/message/index.js';
import { orderedHits } from '../exact/vector-memory.js';
import { assertNoneLeft, batchesOf, VectorStore, VectorStoreError } from '../vector-store.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from '../vector-store.js';
import { QdrantCalls } from './qdrant.calls.js';
import type { QdrantAddress } from './qdrant.calls.js';
import { QdrantCollections, QdrantOwnership } from './qdrant.collections.js';
import type { PointPayload, VectorInstallation } from './qdrant.collections.js';
import { Injectable } from '@nestjs/common';
import type { Config } from '../../platform/config/index.js';
import { Installation } from '../../platform/storage/index.js';
import { QdrantPointsRepository } from '../vector.repository.js';

/** Limits of one request: about 2 MB of JSON, far below the server's 32 MB. */
const REQUEST = { entries: 1_000, numbers: 100_000 };
/** Accuracy of the graph search, for bases that are large enough to have a graph. */
const GRAPH_WIDTH = 256;
/** Maximum number of scopes, above the number of tenants and of bases of one tenant. */
const SCOPES = 100_000;

type PayloadKey = keyof PointPayload;

export interface QdrantSettings extends QdrantAddress {
  readonly prefix: string;
}

/**
 * Vectors in Qdrant 1.15 or newer: a collection for each dimension, in which tenant, base and document are indexed. The
 * point's id is the fragment id. A point of its own in each collection names the installation (QdrantOwnership). Changes are acknowledged when they are applied.
 */
export class QdrantVectorStore extends VectorStore {
  override readonly code = 'qdrant';
  private readonly calls: QdrantCalls;
  private readonly collections: QdrantCollections;

  constructor(settings: QdrantSettings, installation: VectorInstallation, dependency: Dependency) {
    super();
    this.calls = new QdrantCalls(settings, dependency);
    this.collections = new QdrantCollections(
      this.calls,
      settings.prefix,
      new QdrantOwnership(installation),
    );
  }

  override async upsert(
    scope: VectorScope,
    entries: readonly VectorEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.call(msg`store vectors`, signal, async () => {
      for (const batch of batchesOf(entries, REQUEST)) {
        signal.throwIfAborted();
        await this.write(scope, batch, signal);
      }
    });
  }

  override async search(
    scope: VectorScope,
    query: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]> {
    if (query.limit < 1) return [];
    return this.call(msg`search vectors`, signal, async () => {
      const answer = await this.calls.send(signal, (api, init) =>
        api.queryPoints(
          {
            collection_name: this.collections.nameOf(query.vector.length),
            query: [...query.vector],
            filter: { must: [...conditions(scope), ...among(query)] },
            params: { hnsw_ef: Math.max(GRAPH_WIDTH, query.limit) },
            limit: query.limit,
            with_payload: false,
          },
          init,
        ),
      );
      const points = answer?.points ?? [];
      return orderedHits(
        points.map(({ id, score }) => ({ fragmentId: Number(id), score })),
        query,
      );
    });
  }

  override async removeFragments(
    scope: VectorScope,
    fragmentIds: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    if (fragmentIds.length === 0) return;
    const must = [...conditions(scope), { has_id: [...fragmentIds] }];
    await this.call(msg`remove vectors`, signal, () => this.remove(must, signal));
  }

  override async removeAttachment(
    scope: VectorScope,
    attachmentId: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.removeAll(conditions(scope, attachmentId), signal);
  }

  override async removeKnowledge(scope: VectorScope, signal: AbortSignal): Promise<void> {
    await this.removeAll(conditions(scope), signal);
  }

  override async removeTenant(tenantId: string, signal: AbortSignal): Promise<void> {
    await this.removeAll([equals('tenantId', tenantId)], signal);
  }

  override async count(
    scope: VectorScope,
    attachmentId: number | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    return this.call(msg`count vectors`, signal, () =>
      this.countMatching(conditions(scope, attachmentId), signal),
    );
  }

  override async scopes(
    signal: AbortSignal,
  ): Promise<(VectorScope & { readonly count: number })[]> {
    return this.call(msg`list vectors`, signal, async () => {
      const counts = new Map<string, VectorScope & { count: number }>();
      for (const name of await this.collections.names(signal)) {
        for (const { value } of await this.values(name, 'tenantId', [], signal)) {
          const tenantId = String(value);
          const within = [equals('tenantId', tenantId)];
          for (const base of await this.values(name, 'knowledgeId', within, signal)) {
            const knowledgeId = Number(base.value);
            const key = `${tenantId}/${knowledgeId}`;
            const count = base.count + (counts.get(key)?.count ?? 0);
            counts.set(key, { tenantId, knowledgeId, count });
          }
        }
      }
      return [...counts.values()];
    });
  }

  override async fragmentIds(
    scope: VectorScope,
    { after, limit }: { readonly after: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<number[]> {
    return this.call(msg`list vectors`, signal, async () => {
      const pages = await this.everywhere(signal, (collection_name) =>
        this.calls.send(signal, (api, init) =>
          api.scrollPoints(
            {
              collection_name,
              filter: { must: conditions(scope) },
              offset: after + 1,
              limit,
              with_payload: false,
            },
            init,
          ),
        ),
      );
      const ids = pages.flatMap((page) => page?.points.map(({ id }) => Number(id)) ?? []);
      return ids.sort((a, b) => a - b).slice(0, limit);
    });
  }

  private async write(
    scope: VectorScope,
    batch: readonly VectorEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    const dimension = batch[0]?.vector.length ?? 0;
    const collection_name = this.collections.nameOf(dimension);
    const points = batch.map((entry) => pointOf(scope, entry));
    const send = async (): Promise<boolean> => {
      await this.collections.ensure(dimension);
      const answer = await this.calls.send(signal, (api, init) =>
        api.upsertPoints({ collection_name, wait: true, points }, init),
      );
      if (!answer) this.collections.forget(dimension);
      // Another write may be creating the collection again, whose indexes come after it.
      else await this.collections.ensure(dimension);
      return answer !== undefined;
    };
    // The collection may have been removed externally: it is created again, once.
    if (!(await send()) && !(await send())) {
      throw new VectorStoreError(
        msg`A collection in Qdrant is removed repeatedly. Ask an administrator to check who else uses this Qdrant.`,
      );
    }
    const must = [...conditions(scope), { has_id: batch.map(({ fragmentId }) => fragmentId) }];
    await this.remove(must, signal, collection_name);
  }

  private async removeAll(must: Schemas['Condition'][], signal: AbortSignal): Promise<void> {
    await this.call(msg`remove vectors`, signal, async () => {
      await this.remove(must, signal);
      assertNoneLeft(await this.countMatching(must, signal));
    });
  }

  private async remove(
    must: Schemas['Condition'][],
    signal: AbortSignal,
    except?: string,
  ): Promise<void> {
    await this.everywhere(signal, async (collection_name) => {
      if (collection_name === except) return;
      await this.collections.assertOwn(collection_name, signal);
      await this.calls.send(signal, (api, init) =>
        api.deletePoints({ collection_name, wait: true, filter: { must } }, init),
      );
    });
  }

  private async countMatching(must: Schemas['Condition'][], signal: AbortSignal): Promise<number> {
    const counts = await this.everywhere(signal, (collection_name) =>
      this.calls.send(signal, (api, init) =>
        api.countPoints({ collection_name, filter: { must }, exact: true }, init),
      ),
    );
    return counts.reduce((sum, answer) => sum + (answer?.count ?? 0), 0);
  }

  private async values(
    collection_name: string,
    key: PayloadKey,
    must: Schemas['Condition'][],
    signal: AbortSignal,
  ): Promise<Schemas['FacetValueHit'][]> {
    const answer = await this.calls.send(signal, (api, init) =>
      api.facet({ collection_name, key, filter: { must }, limit: SCOPES, exact: true }, init),
    );
    return answer?.hits ?? [];
  }

  private async everywhere<T>(
    signal: AbortSignal,
    ask: (collectionName: string) => Promise<T>,
  ): Promise<T[]> {
    return Promise.all((await this.collections.names(signal)).map(ask));
  }
}

function among({ fragmentIds, attachmentIds }: VectorQuery): Schemas['Condition'][] {
  const documents: PayloadKey = 'attachmentId';
  return [
    ...(fragmentIds ? [{ has_id: [...fragmentIds] }] : []),
    ...(attachmentIds ? [{ key: documents, match: { any: [...attachmentIds] } }] : []),
  ];
}

function conditions(
  { tenantId, knowledgeId }: VectorScope,
  attachmentId?: number,
): Schemas['FieldCondition'][] {
  return [
    equals('tenantId', tenantId),
    equals('knowledgeId', knowledgeId),
    ...(attachmentId === undefined ? [] : [equals('attachmentId', attachmentId)]),
  ];
}

function equals(key: PayloadKey, value: string | number): Schemas['FieldCondition'] {
  return { key, match: { value } };
}

function pointOf(
  { tenantId, knowledgeId }: VectorScope,
  { fragmentId, attachmentId, vector }: VectorEntry,
): Schemas['PointStruct'] {
  const payload: PointPayload = { tenantId, knowledgeId, attachmentId, fragmentId };
  return { id: fragmentId, vector: [...vector], payload: { ...payload } };
}

const REQUEST_TIMEOUT_MS = 30_000;

/** Opens Qdrant for this installation. */
@Injectable()
export class QdrantFactory {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly installation: Installation,
    private readonly points: QdrantPointsRepository,
  ) {}

  /** Opens the store; undefined without QDRANT_URL. */
  async open(config: Config): Promise<QdrantVectorStore | undefined> {
    if (config.QDRANT_URL === undefined) return undefined;
    const { id, vectorPrefix } = await this.installation.identity();
    const settings = {
      url: config.QDRANT_URL,
      apiKey: config.QDRANT_API_KEY,
      prefix: config.QDRANT_PREFIX ?? vectorPrefix,
      timeoutMs: REQUEST_TIMEOUT_MS,
    };
    const owner = {
      id,
      takesOver: config.INSTALLATION_RENEW,
      countKnown: (...[points]: Parameters<QdrantPointsRepository['countKnown']>) =>
        this.points.countKnown(points),
    };
    return new QdrantVectorStore(settings, owner, this.dependencies.of('vectorStore'));
  }
}
