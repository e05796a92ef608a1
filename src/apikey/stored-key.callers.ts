import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  ALL_PERMISSIONS,
  ApiKeyCallers,
  isKeyPermission,
  NOTHING_INLINE,
  permissionsOf,
  readApiKey,
} from '../platform/access/index.js';
import type { Caller, CallerKey, ReadApiKey, RequestOrigin } from '../platform/access/index.js';
import { inTenant, isOutage } from '../platform/database/index.js';
import { EventBus } from '../platform/event/index.js';
import { UserCallers } from '../identity/index.js';
import type { ApiKey } from './api-key.entity.js';
import {
  ApiKeyAddressError,
  ApiKeySurfaceError,
  ApiKeyOwnerError,
  ExpiredApiKeyError,
  InvalidApiKeyError,
  RevokedApiKeyError,
} from './api-key.errors.js';
import { ApiKeyRepository } from './api-key.repository.js';
import type { ApiKeyState } from './api-key.repository.js';
import { withinNetworks } from './networks.js';

const MAX_CACHED_KEY_COUNT = 10_000;
const CACHE_MS = 60_000;

/** A stored key, made ready for requests. */
interface ReadyKey {
  readonly key: ApiKey;
  readonly permissions: readonly string[];
  readonly limits: CallerKey['limits'];
  readonly allowsAddress: (address: string) => boolean;
  readonly allowsSurface: (apiSurface: string) => boolean;
}

/**
 * Resolves the callers of API keys with one statement per request: whether key, owner and tenant are still valid. The key
 * itself is cached and read again when the statement answers another version of it; events of changes clear the cache as
 * well, so that what was revoked does not stay in memory.
 */
@Injectable()
export class StoredKeyCallers
  extends ApiKeyCallers
  implements OnModuleInit, BeforeApplicationShutdown
{
  private readonly logger = new Logger(StoredKeyCallers.name);
  private readonly cache = new LRUCache<string, ReadyKey>({
    max: MAX_CACHED_KEY_COUNT,
    ttl: CACHE_MS,
  });
  private readonly uses = new Map<number, Promise<void>>();
  private readonly subscriptions: (() => void)[] = [];

  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly users: UserCallers,
    private readonly bus: EventBus,
  ) {
    super();
  }

  onModuleInit(): void {
    this.subscriptions.push(
      this.bus.subscribe('access.changed', ({ tenantId }) => {
        this.forget(tenantId);
      }),
      this.bus.onResumed(() => {
        this.forget();
      }),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    await Promise.all(this.uses.values());
  }

  override async resolve(text: string, origin: RequestOrigin): Promise<Caller> {
    const read = readApiKey(text);
    if (!read) throw new InvalidApiKeyError();
    const cached = this.cache.get(read.keyId);
    const tenantId = cached?.key.tenantId ?? (await this.keys.named(read.keyId))?.tenantId;
    if (tenantId === undefined) throw new InvalidApiKeyError();
    return inTenant(tenantId, () => this.resolveIn(tenantId, read, origin, cached));
  }

  override async refresh(caller: Caller): Promise<Caller | undefined> {
    const { apiKey, homeTenantId } = caller;
    if (!apiKey) return undefined;
    return inTenant(homeTenantId, async () => {
      const state = await this.keys.state(homeTenantId, apiKey.id);
      if (!state || refusalOf(state) || state.rightsVersion !== apiKey.rightsVersion) {
        return undefined;
      }
      const validUntil = endOf(state, apiKey.secretVersion);
      if (validUntil === 'ended') return undefined;
      const key = await this.keys.keys.get(homeTenantId, apiKey.id);
      const { secretVersion } = apiKey;
      return this.callerOf(ready(key), state, { secretVersion, validUntil, origin: caller.origin });
    });
  }

  override async current(
    tenantId: string,
    id: number,
    origin: Caller['origin'],
  ): Promise<Caller | undefined> {
    return inTenant(tenantId, async () => {
      const state = await this.keys.state(tenantId, id);
      if (!state || refusalOf(state)) return undefined;
      const { secretVersion } = state;
      const validUntil = state.expireTime?.getTime();
      const key = await this.keys.keys.get(tenantId, id);
      return this.callerOf(ready(key), state, { secretVersion, validUntil, origin });
    });
  }

  private async resolveIn(
    tenantId: string,
    { keyId, digest }: ReadApiKey,
    origin: RequestOrigin,
    cached: ReadyKey | undefined,
  ): Promise<Caller> {
    const readyKey = cached ?? (await this.read(tenantId, keyId));
    const { id } = readyKey.key;
    const state = await this.keys.state(tenantId, id);
    if (!state) {
      this.cache.delete(keyId);
      throw new InvalidApiKeyError();
    }
    const current = isVersion(readyKey.key, state) ? readyKey : await this.read(tenantId, keyId);
    const secretVersion = secretVersionOf(current.key, digest);
    const validUntil = secretVersion === undefined ? 'ended' : endOf(state, secretVersion);
    if (secretVersion === undefined || validUntil === 'ended') throw new InvalidApiKeyError();
    const refusal = refusalOf(state);
    if (refusal) throw refusal;
    requireOrigin(current, origin);
    if (state.useDue) this.recordUse(tenantId, id);
    return this.callerOf(current, state, { secretVersion, validUntil, origin: origin.apiSurface });
  }

  private async read(tenantId: string, keyId: string): Promise<ReadyKey> {
    const key = await this.keys.keys.findOne(tenantId, { keyId });
    if (!key) throw new InvalidApiKeyError();
    const readyKey = ready(key);
    this.cache.set(keyId, readyKey);
    return readyKey;
  }

  private async callerOf(
    { key, permissions, limits }: ReadyKey,
    state: ApiKeyState,
    use: Pick<Caller, 'validUntil' | 'origin'> & { readonly secretVersion: number },
  ): Promise<Caller> {
    const { secretVersion, validUntil, origin } = use;
    const { id, tenantId, userId, tags, strictParameters, toolConsent } = key;
    const { revision, rightsVersion, userName } = state;
    const owner = await this.users.grantsOf({ tenantId, userId }, revision);
    return {
      tenantId,
      homeTenantId: tenantId,
      userId,
      userName,
      clientId: 'api-key',
      origin,
      inline: NOTHING_INLINE,
      // Streams of one key that were opened with the same rights are checked together.
      loginSessionId: `api-key ${id} ${secretVersion} ${rightsVersion}`,
      permissions: effectivePermissions(owner.permissions, permissions),
      roleKeys: owner.roleKeys,
      subjects: owner.subjects,
      revision,
      apiKey: { id, limits, tags, strictParameters, toolConsent, rightsVersion, secretVersion },
      validUntil,
    };
  }

  private forget(tenantId?: string): void {
    for (const [keyId, { key }] of this.cache.entries()) {
      if (tenantId === undefined || key.tenantId === tenantId) this.cache.delete(keyId);
    }
  }

  /** Records the use of the key. The request does not wait for it, and each key has one write at a time. */
  private recordUse(tenantId: string, id: number): void {
    if (this.uses.has(id)) return;
    const use = this.keys
      .recordUse(tenantId, id)
      .catch((error: unknown) => {
        // The next request tries again.
        if (isOutage(error)) return;
        this.logger.warn({ msg: 'Failed to record last use of API key', err: error });
      })
      .finally(() => this.uses.delete(id));
    this.uses.set(id, use);
  }
}

function ready(key: ApiKey): ReadyKey {
  const { addresses, doors } = key;
  return {
    key,
    permissions: key.permissions.flatMap(permissionsOf),
    limits: {
      models: key.modelIds ? new Set(key.modelIds) : undefined,
      agents: key.agentIds ? new Set(key.agentIds) : undefined,
      knowledgeBases: key.knowledgeIds ? new Set(key.knowledgeIds) : undefined,
    },
    allowsAddress: addresses ? withinNetworks(addresses) : () => true,
    allowsSurface: (apiSurface) => doors?.includes(apiSurface) ?? true,
  };
}

function isVersion(key: ApiKey, { secretVersion, rightsVersion }: ApiKeyState): boolean {
  return key.secretVersion === secretVersion && key.rightsVersion === rightsVersion;
}

/** The version of the secret that the digest belongs to; undefined if it fits neither. */
function secretVersionOf(key: ApiKey, digest: string): number | undefined {
  if (isEqual(key.secretDigest, digest)) return key.secretVersion;
  if (key.previousDigest && isEqual(key.previousDigest, digest)) return key.secretVersion - 1;
  return undefined;
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

/** The end of the secret in milliseconds since the epoch; undefined if it has none. */
function endOf(state: ApiKeyState, secretVersion: number): number | undefined | 'ended' {
  const { expireTime, previousExpireTime } = state;
  if (secretVersion === state.secretVersion) return expireTime?.getTime();
  if (secretVersion !== state.secretVersion - 1 || !previousExpireTime) return 'ended';
  return Math.min(previousExpireTime.getTime(), expireTime?.getTime() ?? Infinity);
}

function refusalOf(state: ApiKeyState): Error | undefined {
  if (state.revoked) return new RevokedApiKeyError();
  if (state.expired) return new ExpiredApiKeyError();
  if (!state.ownerEnabled || !state.tenantOpen) return new ApiKeyOwnerError();
  return undefined;
}

function requireOrigin(key: ReadyKey, { apiSurface, address = '' }: RequestOrigin): void {
  if (!key.allowsSurface(apiSurface)) throw new ApiKeySurfaceError(apiSurface);
  if (!key.allowsAddress(address)) throw new ApiKeyAddressError(address);
}

/** The chosen permissions that the owner has. ALL_PERMISSIONS is never among them, because it cannot be chosen. */
export function effectivePermissions(
  owner: ReadonlySet<string>,
  chosen: readonly string[],
): ReadonlySet<string> {
  const hasAll = owner.has(ALL_PERMISSIONS);
  return new Set(
    chosen.filter(
      (one) => one !== ALL_PERMISSIONS && (hasAll || owner.has(one) || isKeyPermission(one)),
    ),
  );
}
