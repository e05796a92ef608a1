import type { Schemas } from '@qdrant/js-client-rest';
import type { QdrantCalls, Sender } from './qdrant.calls.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import { DependencyFault } from '../../platform/dependency/index.js';
import { msg } from '../../platform/message/index.js';

/** Payload of each vector. */
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
    const existing = [...this.ready].filter(([dimension]) =>
      names.includes(this.nameOf(dimension)),
    );
    await Promise.allSettled(existing.map(([, creation]) => creation));
    return names;
  }

  /** Creates the collection if it is missing. Not aborted by the first caller's signal, because others wait. */
  async ensure(dimension: number): Promise<void> {
    const creation =
      this.ready.get(dimension) ??
      this.make(dimension).catch((error: unknown) => {
        this.ready.delete(dimension);
        throw error;
      });
    this.ready.set(dimension, creation);
    await creation;
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

  /** Whether this call created the collection. */
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

/** The installation that may change the collections. */
export interface VectorInstallation {
  readonly id: string;
  /** The id that INSTALLATION_RENEW names: collections with its marker, or without one, are taken over. */
  readonly takesOver?: string | undefined;
  /** Number of points that belong to fragments of this installation's database. */
  countKnown(points: readonly KnownPoint[]): Promise<number>;
}

export interface KnownPoint {
  readonly tenantId: string;
  readonly attachmentId: number;
  readonly fragmentId: number;
}

/** Ids of fragments begin at 1. The marker has no tenant, so that no filter, count or facet meets it. */
const MARKER_ID = 0;
const Marker = z.object({ payload: z.object({ installation: z.string() }) });
const Payload = z.object({
  tenantId: z.string(),
  attachmentId: z.number(),
  fragmentId: z.number(),
});

/** Number of vectors of a collection without a marker that are compared with the database. */
const SAMPLE = 64;
/** The process that has created a collection writes the marker next. */
const MARKER_POLLS = 10;
const MARKER_POLL_MS = 200;

/**
 * Whose the collections are. Each has a marker with the id of the installation, a point without a tenant. Where it names
 * another one, the two would overwrite each other's vectors, because both number their fragments from 1, and remove them as
 * orphans: nothing is read, written or removed then. A collection of an earlier release has none: it is taken when it
 * is empty, or when half of a sample of its vectors belongs to fragments of this database.
 */
export class QdrantOwnership {
  private readonly logger = new Logger('VectorStore');

  constructor(private readonly installation: VectorInstallation) {}

  /** Rejects with DependencyFault when the collection is another installation's. */
  async assertOwn(collection_name: string, send: Sender): Promise<void> {
    const marker = await this.read(collection_name, send);
    if (marker === this.installation.id) return;
    if (!(await this.mayTake(collection_name, marker, send))) {
      throw this.foreign(collection_name, marker);
    }
    // Missing when the collection was removed meanwhile.
    const isMarked = await this.mark(collection_name, send);
    if (isMarked) {
      const details = { collection: collection_name, from: marker ?? null };
      this.logger.log({ msg: 'Collection in Qdrant taken over', ...details });
    }
  }

  /** Waits until the creator of a collection has marked it; a short time, because there may be none. */
  async awaitMarker(collection_name: string, send: Sender): Promise<void> {
    for (let poll = 0; poll < MARKER_POLLS; poll += 1) {
      if ((await this.read(collection_name, send)) !== undefined) return;
      await sleep(MARKER_POLL_MS);
    }
  }

  private async read(collection_name: string, send: Sender): Promise<string | undefined> {
    const point = await send((api, init) => api.getPoint({ collection_name, id: MARKER_ID }, init));
    return Marker.safeParse(point).data?.payload.installation;
  }

  /**
   * Marks a collection that is this installation's, such as one that this process has created. Answers whether the marker was written; not
   * when the collection is missing.
   */
  async mark(collection_name: string, send: Sender): Promise<boolean> {
    const dimension = Number(collection_name.slice(collection_name.lastIndexOf('_') + 1));
    const vector = Array.from({ length: dimension }, (_, at) => (at === 0 ? 1 : 0));
    const payload = { installation: this.installation.id };
    const points = [{ id: MARKER_ID, vector, payload }];
    const answer = await send((api, init) =>
      api.upsertPoints({ collection_name, wait: true, points }, init),
    );
    return answer !== undefined;
  }

  private async mayTake(
    collection_name: string,
    marker: string | undefined,
    send: Sender,
  ): Promise<boolean> {
    const { takesOver } = this.installation;
    if (marker !== undefined) return marker === takesOver;
    if (takesOver !== undefined) return true;
    const answer = await send((api, init) =>
      api.scrollPoints({ collection_name, offset: 1, limit: SAMPLE, with_payload: true }, init),
    );
    const points = answer?.points ?? [];
    if (points.length === 0) return true;
    const readable = points.flatMap(({ payload }) => Payload.safeParse(payload).data ?? []);
    return (await this.installation.countKnown(readable)) * 2 >= points.length;
  }

  private foreign(collection: string, marker: string | undefined): DependencyFault {
    const { id } = this.installation;
    const owner =
      marker === undefined
        ? 'has no marker, and its vectors are not of this database'
        : `is marked by the installation ${marker}`;
    return new DependencyFault(
      msg`The collections in Qdrant belong to another installation. Ask an administrator to set another QDRANT_PREFIX.`,
      new Error(
        `The collection ${collection} ${owner}; the id of this installation is ${id}. Nothing is read, written or removed. Set QDRANT_PREFIX to a prefix that no other installation uses. If no other one uses these collections, start once with INSTALLATION_RENEW=${marker ?? id}.`,
      ),
    );
  }
}
