import { LRUCache } from 'lru-cache';
import type { Caller } from '../platform/access/index.js';
import { TenantRevision } from '../platform/access/index.js';

export type Asker = Pick<Caller, 'tenantId' | 'revision'>;

interface TenantEntries<T> {
  readonly revision: number;
  readonly byKey: Map<string, Promise<T>>;
}

const CACHED_TENANTS = 1_000;

/**
 * What was read for a tenant, used again as long as the asker's revision is the one it was read at. Every change of a
 * provider or model begins a new revision, so nothing here outlives the record it came from.
 */
export class RevisionCache<T> {
  private readonly tenants = new LRUCache<string, TenantEntries<T>>({ max: CACHED_TENANTS });

  constructor(private readonly revision: TenantRevision) {}

  /** What an earlier call read for the key, or reads it; those who ask at once share one reading. */
  get(asker: Asker, key: string, read: () => Promise<T>): Promise<T> {
    const byKey = this.entriesOf(asker);
    const known = byKey?.get(key);
    if (known) return known;
    const reading = this.read(asker, read, () => byKey?.delete(key));
    byKey?.set(key, reading);
    return reading;
  }

  /** The tenant's entries at the asker's revision; undefined for one who began before the newest one. */
  private entriesOf({ tenantId, revision }: Asker): Map<string, Promise<T>> | undefined {
    const cached = this.tenants.get(tenantId);
    if (cached?.revision === revision) return cached.byKey;
    if (cached && cached.revision > revision) return undefined;
    const byKey = new Map<string, Promise<T>>();
    this.tenants.set(tenantId, { revision, byKey });
    return byKey;
  }

  /** Forgets it again when it fails, and when a change came while it was read. */
  private async read(
    { tenantId, revision }: Asker,
    read: () => Promise<T>,
    forget: () => void,
  ): Promise<T> {
    try {
      const value = await read();
      if ((await this.revision.current(tenantId)) !== revision) forget();
      return value;
    } catch (error) {
      forget();
      throw error;
    }
  }
}
