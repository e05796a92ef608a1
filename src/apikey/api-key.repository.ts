import { Injectable } from '@nestjs/common';
import {
  acrossTenants,
  containing,
  Database,
  SharedReads,
  TenantScoped,
} from '../platform/database/index.js';
import { SERVICE_ACCOUNT } from '../identity/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { ApiKeyListQuery } from './api-key.dto.js';
import { ApiKey } from './api-key.entity.js';

/** Written columns; undefined ones keep their value. */
export type ApiKeyValues = Partial<
  Pick<
    ApiKey,
    | 'name'
    | 'permissions'
    | 'modelIds'
    | 'agentIds'
    | 'knowledgeIds'
    | 'addresses'
    | 'doors'
    | 'tags'
    | 'strictParameters'
    | 'toolConsent'
    | 'expireTime'
  >
>;

/** Columns of the key of an application. */
export type ApplicationValues = Partial<Pick<ApiKey, 'application' | 'renewableUntil'>>;

/** A new secret of the key of an application. */
export interface Renewal {
  readonly digest: string;
  readonly validSeconds: number;
  readonly renewableSeconds: number;
  /** The former secret stays valid for so long, but not beyond its end: requests under way are answered. */
  readonly overlapSeconds: number;
}

/** The state that can change at any moment and decides about a request. */
export interface ApiKeyState {
  readonly userName: string;
  readonly ownerEnabled: boolean;
  readonly tenantOpen: boolean;
  readonly revoked: boolean;
  readonly expired: boolean;
  readonly expireTime: Date | null;
  readonly secretVersion: number;
  /** The end of the key before the last rotation; null once it has ended. */
  readonly previousExpireTime: Date | null;
  readonly rightsVersion: number;
  /** The revision of the tenant. */
  readonly revision: number;
  /** The recorded last use is old enough to record another. */
  readonly useDue: boolean;
}

export interface ListedApiKey extends ApiKey {
  readonly userName: string;
  readonly isServiceAccount: boolean;
}

/** Runs once for every request with a key. */
const STATE = `
    SELECT u.user_name AS "userName", u.status = '0' AS "ownerEnabled",
           (t.tenant_id = '000000'
            OR (t.status = '0' AND (t.expire_time IS NULL OR t.expire_time > now()))) AS "tenantOpen",
           k.revoked_time IS NOT NULL AS revoked,
           coalesce(k.expire_time <= now(), false) AS expired,
           k.expire_time AS "expireTime",
           k.secret_version AS "secretVersion",
           CASE WHEN k.previous_expire_time > now() THEN k.previous_expire_time END AS "previousExpireTime",
           k.rights_version AS "rightsVersion",
           t.revision,
           coalesce(k.last_used_time < now() - interval '1 minute', true) AS "useDue"
      FROM api_key k
      JOIN user_account u ON u.id = k.user_id AND u.tenant_id = k.tenant_id
      JOIN tenant t ON t.tenant_id = k.tenant_id
     WHERE k.tenant_id = $1 AND k.id = $2`;

@Injectable()
export class ApiKeyRepository {
  readonly keys: TenantScoped<ApiKey>;
  private readonly states = new SharedReads<ApiKeyState | undefined>();

  constructor(private readonly database: Database) {
    this.keys = new TenantScoped(database, ApiKey, msg`The API key`);
  }

  /** The key with the id, which is unique in the installation. A request names its key before its tenant is known. */
  async named(keyId: string): Promise<Pick<ApiKey, 'id' | 'tenantId'> | undefined> {
    const [keyRow] = await acrossTenants('API key of a request', () =>
      this.database.query<Pick<ApiKey, 'id' | 'tenantId'>>(
        'SELECT id, tenant_id AS "tenantId" FROM api_key WHERE key_id = $1',
        [keyId],
      ),
    );
    return keyRow;
  }

  state(tenantId: string, id: number): Promise<ApiKeyState | undefined> {
    return this.states.get(`${tenantId} ${id}`, async () => {
      const [row] = await this.database.prepared<ApiKeyState>(STATE, [tenantId, id]);
      return row;
    });
  }

  async page(
    tenantId: string,
    query: ApiKeyListQuery,
    userId: number | undefined,
  ): Promise<Page<ApiKey>> {
    const { name } = query;
    const where = {
      ...(userId !== undefined && { userId }),
      ...(name && { name: containing(name) }),
    };
    return this.keys.page(tenantId, query, where, { id: 'DESC' });
  }

  /** The keys with the names of their owners. */
  async withOwners(tenantId: string, keys: readonly ApiKey[]): Promise<ListedApiKey[]> {
    const rows = await this.database.query<{ id: number; name: string; type: string }>(
      `SELECT id, user_name AS name, user_type AS type FROM user_account
        WHERE tenant_id = $1 AND id = ANY ($2::bigint[])`,
      [tenantId, keys.map(({ userId }) => userId)],
    );
    const owners = new Map(rows.map((row) => [row.id, row]));
    return keys.map((key) => {
      const owner = owners.get(key.userId);
      return {
        ...key,
        userName: owner?.name ?? '',
        isServiceAccount: owner?.type === SERVICE_ACCOUNT,
      };
    });
  }

  /** How many keys of the user are neither revoked nor expired. */
  async countActive(tenantId: string, userId: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM api_key
        WHERE tenant_id = $1 AND user_id = $2 AND revoked_time IS NULL
          AND (expire_time IS NULL OR greatest(expire_time, renewable_until) > now())`,
      [tenantId, userId],
    );
    return row?.count ?? 0;
  }

  /** Changes the key; `rights` says that open streams of it must end. */
  async update(
    tenantId: string,
    id: number,
    values: ApiKeyValues,
    { rights }: { readonly rights: boolean },
  ): Promise<void> {
    await this.keys.update(tenantId, id, values);
    if (!rights) return;
    await this.database.query(
      'UPDATE api_key SET rights_version = rights_version + 1 WHERE tenant_id = $1 AND id = $2',
      [tenantId, id],
    );
  }

  /** Gives the key another secret. The old one stays valid for the seconds. */
  async rotate(
    tenantId: string,
    id: number,
    digest: string,
    overlapSeconds: number,
  ): Promise<void> {
    await this.database.query(
      `UPDATE api_key SET previous_digest = CASE WHEN $4::integer > 0 THEN secret_digest END,
              previous_expire_time = CASE WHEN $4::integer > 0 THEN now() + make_interval(secs => $4::integer) END,
              secret_digest = $3, secret_version = secret_version + 1, update_time = now()
        WHERE tenant_id = $1 AND id = $2`,
      [tenantId, id, digest, overlapSeconds],
    );
  }

  /**
   * Gives the key of an application another secret, if it can be renewed and its owner and tenant are enabled. Returns its
   * permissions, or undefined.
   */
  async renew(
    tenantId: string,
    id: number,
    { digest, validSeconds, renewableSeconds, overlapSeconds }: Renewal,
  ): Promise<string[] | undefined> {
    const [key] = await this.database.query<Pick<ApiKey, 'permissions'>>(
      `WITH renewable AS (
         SELECT k.id FROM api_key k
           JOIN user_account u ON u.id = k.user_id AND u.tenant_id = k.tenant_id
           JOIN tenant t ON t.tenant_id = k.tenant_id
          WHERE k.tenant_id = $1 AND k.id = $2 AND k.revoked_time IS NULL AND k.renewable_until > now()
            AND u.status = '0'
            AND (t.tenant_id = '000000'
                 OR (t.status = '0' AND (t.expire_time IS NULL OR t.expire_time > now())))
       ), renewed AS (
         UPDATE api_key SET previous_digest = secret_digest,
                previous_expire_time = least(expire_time, now() + make_interval(secs => $6::integer)),
                secret_digest = $3, secret_version = secret_version + 1,
                expire_time = now() + make_interval(secs => $4::integer),
                renewable_until = now() + make_interval(secs => $5::integer), update_time = now()
          WHERE tenant_id = $1 AND id IN (SELECT id FROM renewable)
         RETURNING permissions
       ) SELECT permissions FROM renewed`,
      [tenantId, id, digest, validSeconds, renewableSeconds, overlapSeconds],
    );
    return key?.permissions;
  }

  /** Revokes the keys; keys that are already revoked keep their time. */
  async revoke(tenantId: string, ids: readonly number[]): Promise<void> {
    await this.database.query(
      `UPDATE api_key SET revoked_time = now(), previous_digest = NULL, previous_expire_time = NULL,
              update_time = now()
        WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) AND revoked_time IS NULL`,
      [tenantId, ids],
    );
  }

  /** Records the use at most once a minute, whatever the number of requests and processes. */
  async recordUse(tenantId: string, id: number): Promise<void> {
    await this.database.query(
      `UPDATE api_key SET last_used_time = now()
        WHERE tenant_id = $1 AND id = $2
          AND (last_used_time IS NULL OR last_used_time < now() - interval '1 minute')`,
      [tenantId, id],
    );
  }
}
