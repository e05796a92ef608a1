import { Injectable } from '@nestjs/common';
import { API_KEY_PREFIX, apiKeyDigest, newApiKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AccessChange } from '../identity/index.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyService } from './api-key.service.js';

/** How long a key is valid after each renewal. */
export const KEY_SECONDS = 3_600;
/** An application that does not renew its key for so long must ask the person again. */
const RENEWABLE_SECONDS = 30 * 86_400;
const OVERLAP_SECONDS = 60;

/** What a person lets an application do. */
interface Application {
  /** As the application calls itself. */
  readonly name: string;
  /** The host that the person is led back to. */
  readonly host: string;
  readonly permissions: readonly string[];
  /** Without a first renewal the key never becomes valid. */
  readonly firstRenewalSeconds: number;
}

interface RenewedKey {
  readonly key: string;
  readonly permissions: readonly string[];
}

/** Keys of applications that people connect: limited to the interface mcp, and valid for an hour until they are renewed. */
@Injectable()
export class ApplicationKeys {
  constructor(
    private readonly service: ApiKeyService,
    private readonly repository: ApiKeyRepository,
    private readonly change: AccessChange,
  ) {}

  /** Creates a key that is valid from its first renewal on. Call it in the transaction that stores who can renew it. */
  async create(
    caller: Caller,
    { name, host, permissions, firstRenewalSeconds }: Application,
  ): Promise<{ readonly id: number; readonly keyId: string }> {
    const now = Date.now();
    const { id, prefix } = await this.service.create(
      caller,
      { name, permissions: [...permissions], doors: ['mcp'] },
      {
        application: host,
        expireTime: new Date(now),
        renewableUntil: new Date(now + firstRenewalSeconds * 1_000),
      },
    );
    return { id, keyId: prefix.slice(API_KEY_PREFIX.length) };
  }

  /** The key with the id, which is unique in the installation. */
  named(keyId: string): Promise<Pick<ApiKey, 'id' | 'tenantId'> | undefined> {
    return this.repository.named(keyId);
  }

  /** Gives the key a new secret for an hour; undefined if it was revoked or not renewed in time, or its owner is disabled. */
  async renew(tenantId: string, id: number, keyId: string): Promise<RenewedKey | undefined> {
    const key = newApiKey(keyId);
    const permissions = await this.repository.renew(tenantId, id, {
      digest: apiKeyDigest(key),
      validSeconds: KEY_SECONDS,
      renewableSeconds: RENEWABLE_SECONDS,
      overlapSeconds: OVERLAP_SECONDS,
    });
    return permissions && { key, permissions };
  }

  /** Whether it is the digest of the key's secret, or of the one before. */
  async hasSecret(tenantId: string, id: number, digest: string): Promise<boolean> {
    const { secretDigest, previousDigest } = await this.repository.keys.get(tenantId, id);
    return digest === secretDigest || digest === previousDigest;
  }

  /** Revokes the key for its owner. `reason` is for the audit log. */
  async revoke(tenantId: string, id: number, reason: string): Promise<void> {
    const key = await this.repository.keys.get(tenantId, id);
    if (key.revokedTime) return;
    const [owner] = await this.repository.withOwners(tenantId, [key]);
    await this.change.apply(
      { tenantId, userId: key.userId, userName: owner?.userName ?? '' },
      () => this.repository.revoke(tenantId, [id]),
      () => [{ action: 'revoke', target: 'api_key', id, detail: { reason } }],
    );
  }
}
