import { LRUCache } from 'lru-cache';
import type { Caller } from '../platform/access/index.js';
import { TenantRevision } from '../platform/access/index.js';

/** Whose data is cached, and at which revision. */
export type CacheOwner = Pick<Caller, 'tenantId' | 'revision'>;

interface TenantEntries<T> {
  readonly revision: number;
  readonly byKey: Map<string, Promise<T>>;
}

const CACHED_TENANTS = 1_000;

/**
 * What was read for a tenant, used again as long as the caller's revision is the one it was read at. Every change of a
 * provider or model begins a new revision, so nothing here outlives the record it came from.
 */
export class RevisionCache<T> {
  private readonly tenants = new LRUCache<string, TenantEntries<T>>({ max: CACHED_TENANTS });

  constructor(private readonly revision: TenantRevision) {}

  /** What an earlier call read for the key, or reads it; concurrent calls share one read. */
  get(owner: CacheOwner, key: string, read: () => Promise<T>): Promise<T> {
    const byKey = this.entriesOf(owner);
    const known = byKey?.get(key);
    if (known) return known;
    const reading = this.read(owner, read, () => byKey?.delete(key));
    byKey?.set(key, reading);
    return reading;
  }

  /** The tenant's entries at the caller's revision; undefined for a caller with an older revision. */
  private entriesOf({ tenantId, revision }: CacheOwner): Map<string, Promise<T>> | undefined {
    const cached = this.tenants.get(tenantId);
    if (cached?.revision === revision) return cached.byKey;
    if (cached && cached.revision > revision) return undefined;
    const byKey = new Map<string, Promise<T>>();
    this.tenants.set(tenantId, { revision, byKey });
    return byKey;
  }

  /** Forgets it again when it fails, and when a change came while it was read. */
  private async read(
    { tenantId, revision }: CacheOwner,
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
