import type { Schemas } from '@qdrant/js-client-rest';
import type { QdrantCalls, Sender } from './qdrant.calls.js';
import type { QdrantOwnership } from './qdrant.ownership.js';

/** What is stored with each vector. */
export interface PointPayload {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly fragmentId: number;
}

/**
 * Follows Qdrant's guide to multitenancy: no global graph (m), but one per value of an indexed field (payload_m), so per
 * tenant and per base. A base below the threshold is scanned, which is exact: 400,000 KB are 100,000 vectors of 1,024
 * dimensions. The threshold is far above Qdrant's default, because such graphs lost hits in 1.15 (qdrant/qdrant#7147).
 */
const HNSW = { m: 0, payload_m: 16, full_scan_threshold: 400_000 };

/** The point id is the fragment id, which needs no index. */
const INDEXES: readonly Schemas['CreateFieldIndex'][] = [
  { field_name: 'tenantId', field_schema: { type: 'keyword', is_tenant: true } },
  { field_name: 'knowledgeId', field_schema: { type: 'integer', lookup: true, range: false } },
  { field_name: 'attachmentId', field_schema: { type: 'integer', lookup: true, range: false } },
];

/** The collections of this installation: `<prefix>_<dimension>`, created with the first vector of a dimension. */
export class QdrantCollections {
  private readonly ready = new Map<number, Promise<void>>();

  constructor(
    private readonly calls: QdrantCalls,
    private readonly prefix: string,
    private readonly ownership: QdrantOwnership,
  ) {
    calls.verifyWith({
      verify: async (send) => {
        for (const name of await this.list(send)) await ownership.assertOwn(name, send);
      },
      write: async (send) => {
        for (const name of await this.list(send)) await ownership.mark(name, send);
      },
    });
  }

  nameOf(dimension: number): string {
    return `${this.prefix}_${dimension}`;
  }

  /** The names of all existing collections; one that this process is creating has its indexes. */
  async names(signal: AbortSignal): Promise<string[]> {
    const names = await this.list((request) => this.calls.send(signal, request));
    const made = [...this.ready].filter(([dimension]) => names.includes(this.nameOf(dimension)));
    await Promise.allSettled(made.map(([, creation]) => creation));
    return names;
  }

  /** Creates the collection if it is missing. Not aborted by the first caller's signal, because others wait. */
  async ensure(dimension: number): Promise<void> {
    const known =
      this.ready.get(dimension) ??
      this.make(dimension).catch((error: unknown) => {
        this.ready.delete(dimension);
        throw error;
      });
    this.ready.set(dimension, known);
    await known;
  }

  /** Call it when the collection turned out to be missing. */
  forget(dimension: number): void {
    this.ready.delete(dimension);
  }

  /** Rejects with UnavailableError when the collection is another installation's. */
  async assertOwn(name: string, signal: AbortSignal): Promise<void> {
    const send = this.calls.sender(signal);
    await this.calls.guarded(() => this.ownership.assertOwn(name, send));
  }

  private async list(send: Sender): Promise<string[]> {
    const answer = await send((api, init) => api.getCollections({}, init));
    return (answer?.collections ?? [])
      .map(({ name }) => name)
      .filter(
        (name) =>
          name.startsWith(`${this.prefix}_`) && /^\d+$/.test(name.slice(this.prefix.length + 1)),
      );
  }

  private async make(dimension: number): Promise<void> {
    const { signal } = new AbortController();
    const collection_name = this.nameOf(dimension);
    const isMade = await this.create(collection_name, dimension, signal);
    const send = this.calls.sender(signal);
    if (isMade) await this.ownership.mark(collection_name, send);
    else await this.ownership.awaitMarker(collection_name, send);
    await this.assertOwn(collection_name, signal);
    for (const index of INDEXES) {
      await this.calls.send(signal, (api, init) =>
        api.createFieldIndex({ collection_name, wait: true, ...index }, init),
      );
    }
  }

  /** Whether this call has created it. */
  private async create(
    collection_name: string,
    dimension: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!(await this.exists(collection_name, signal))) {
      try {
        await this.calls.send(signal, (api, init) =>
          api.createCollection(
            {
              collection_name,
              vectors: { size: dimension, distance: 'Cosine' },
              hnsw_config: HNSW,
            },
            init,
          ),
        );
        return true;
      } catch (error) {
        // Another process may have created it.
        if (!(await this.exists(collection_name, signal))) throw error;
      }
    }
    return false;
  }

  private async exists(collection_name: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.calls.send(signal, (api, init) =>
      api.collectionExists({ collection_name }, init),
    );
    return answer?.exists ?? false;
  }
}
