import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import { DependencyFault } from '../../platform/dependency/index.js';
import { msg } from '../../platform/message/index.js';
import type { Sender } from './qdrant.calls.js';

/** The installation that may change the collections. */
export interface VectorInstallation {
  readonly id: string;
  /** The id that INSTALLATION_RENEW names: collections with its marker, or without one, are taken over. */
  readonly takesOver?: string | undefined;
  /** How many of the points belong to fragments of this installation's database. */
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

/** How many vectors of a collection without a marker are compared with the database. */
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
    const written = await this.mark(collection_name, send);
    if (written) {
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
