import { Injectable } from '@nestjs/common';
import type { DeepPartial } from 'typeorm';
import {
  acrossTenants,
  containing,
  Database,
  isUniqueViolation,
  TenantScoped,
} from '../../platform/database/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { SsoProviderListQuery } from './sso.dto.js';
import { DraftUsedError } from './sso.errors.js';
import { SsoIdentity, SsoProvider, SsoSession } from './sso.entity.js';

/** An identity whose user the provider is to be asked for. */
export interface DueIdentity {
  readonly id: number;
  readonly tenantId: string;
  readonly providerId: number;
  readonly userId: number;
  readonly refreshToken: string;
}

const PUBLIC_ID = 'sso_provider_public_id';

/** Marks and answers identities that were not checked for the interval; another process takes others. */
const CLAIM_DUE = `
  UPDATE sso_identity SET checked_time = now()
   WHERE id IN (
     SELECT i.id FROM sso_identity i
       JOIN sso_provider p ON p.id = i.provider_id AND p.tenant_id = i.tenant_id
       JOIN user_account u ON u.id = i.user_id AND u.tenant_id = i.tenant_id
      WHERE i.refresh_token IS NOT NULL AND p.status = '0' AND u.status = '0'
        AND i.checked_time <= now() - make_interval(secs => $1)
      ORDER BY i.checked_time LIMIT $2
        FOR UPDATE OF i SKIP LOCKED)
  RETURNING id, tenant_id AS "tenantId", provider_id AS "providerId", user_id AS "userId",
            refresh_token AS "refreshToken"`;

@Injectable()
export class SsoRepository {
  readonly providers: TenantScoped<SsoProvider>;
  readonly identities: TenantScoped<SsoIdentity>;

  constructor(private readonly database: Database) {
    this.providers = new TenantScoped(database, SsoProvider, msg`The provider`);
    this.identities = new TenantScoped(database, SsoIdentity, msg`The user`);
  }

  /** The tenant of a provider whose address is called without a sign-in. The id is unique in the installation. */
  async tenantOf(publicId: string): Promise<string | undefined> {
    const [provider] = await acrossTenants('provider of a sign-in', () =>
      this.database.query<{ tenantId: string }>(
        'SELECT tenant_id AS "tenantId" FROM sso_provider WHERE public_id = $1',
        [publicId],
      ),
    );
    return provider?.tenantId;
  }

  /** Creates a provider. Throws DraftUsedError if the public id is in use. */
  async create(
    tenantId: string,
    values: Omit<DeepPartial<SsoProvider>, 'tenantId'>,
  ): Promise<SsoProvider> {
    try {
      return await this.providers.insert(tenantId, values);
    } catch (error) {
      throw isUniqueViolation(error, PUBLIC_ID) ? new DraftUsedError() : error;
    }
  }

  async page(tenantId: string, query: SsoProviderListQuery): Promise<Page<SsoProvider>> {
    const { name } = query;
    const where = name ? { name: containing(name) } : {};
    return this.providers.page(tenantId, query, where, { id: 'ASC' });
  }

  async bySubject(
    tenantId: string,
    providerId: number,
    subject: string,
  ): Promise<SsoIdentity | null> {
    return this.identities.findOne(tenantId, { providerId, subject });
  }

  /** Whether the provider is enabled. It then stays so until the transaction ends. */
  async lockEnabled(tenantId: string, id: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM sso_provider WHERE tenant_id = $1 AND id = $2 AND status = '0' FOR SHARE`,
      [tenantId, id],
    );
    return rows.length > 0;
  }

  /** The public ids of the providers that sign the user in. */
  async connected(tenantId: string, userId: number): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT DISTINCT p.public_id AS id FROM sso_identity i
         JOIN sso_provider p ON p.id = i.provider_id AND p.tenant_id = i.tenant_id
        WHERE i.tenant_id = $1 AND i.user_id = $2`,
      [tenantId, userId],
    );
    return rows.map(({ id }) => id);
  }

  /** Whether an enabled provider other than the given one signs the user in. */
  async hasOther(tenantId: string, userId: number, providerId: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM sso_identity i
         JOIN sso_provider p ON p.id = i.provider_id AND p.tenant_id = i.tenant_id
        WHERE i.tenant_id = $1 AND i.user_id = $2 AND p.id <> $3 AND p.status = '0' LIMIT 1`,
      [tenantId, userId, providerId],
    );
    return rows.length > 0;
  }

  /** Stores the token; its next check is due after a whole interval. */
  async keepToken(tenantId: string, id: number, refreshToken: string | null): Promise<void> {
    await this.database.query(
      'UPDATE sso_identity SET refresh_token = $3, checked_time = now() WHERE tenant_id = $1 AND id = $2',
      [tenantId, id, refreshToken],
    );
  }

  /** Replaces the token; false if another one is stored meanwhile. */
  async replaceToken(
    tenantId: string,
    id: number,
    tokens: { readonly before: string; readonly after: string },
  ): Promise<boolean> {
    const rows = await this.database.query(
      'UPDATE sso_identity SET refresh_token = $4 WHERE tenant_id = $1 AND id = $2 AND refresh_token = $3 RETURNING id',
      [tenantId, id, tokens.before, tokens.after],
    );
    return rows.length > 0;
  }

  async addSession(tenantId: string, session: Omit<SsoSession, 'tenantId'>): Promise<void> {
    await this.database.repository(SsoSession).insert({ ...session, tenantId });
  }

  async sessionOf(tenantId: string, loginSessionId: string): Promise<SsoSession | null> {
    return this.database.repository(SsoSession).findOneBy({ tenantId, loginSessionId });
  }

  /** Ends the login sessions of the provider: all, those of a subject, or those of a session there. Answers their identities. */
  async endSessions(
    tenantId: string,
    providerId: number,
    of: { readonly subject?: string | undefined; readonly sid?: string | undefined } = {},
  ): Promise<{ identityId: number; userId: number }[]> {
    const ended = await this.database.query<{ identityId: number; userId: number }>(
      `DELETE FROM login_session l USING sso_session s, sso_identity i
        WHERE l.tenant_id = $1 AND s.tenant_id = $1 AND i.tenant_id = $1
          AND s.login_session_id = l.id AND i.id = s.identity_id AND i.provider_id = $2
          AND ($3::text IS NULL OR i.subject = $3) AND ($4::text IS NULL OR s.sid = $4)
        RETURNING i.id AS "identityId", i.user_id AS "userId"`,
      [tenantId, providerId, of.subject ?? null, of.sid ?? null],
    );
    return [...new Map(ended.map((one) => [one.identityId, one])).values()];
  }

  async claimDue(intervalSeconds: number, limit: number): Promise<DueIdentity[]> {
    return acrossTenants('check of users at their providers', () =>
      this.database.query<DueIdentity>(CLAIM_DUE, [intervalSeconds, limit]),
    );
  }

  async breakGlassUsers(tenantId: string): Promise<{ userId: number; userName: string }[]> {
    return this.database.query<{ userId: number; userName: string }>(
      `SELECT id AS "userId", user_name AS "userName" FROM user_account
        WHERE tenant_id = $1 AND break_glass ORDER BY id LIMIT 1000`,
      [tenantId],
    );
  }

  async setBreakGlass(tenantId: string, userIds: readonly number[]): Promise<void> {
    await this.database.query(
      `UPDATE user_account SET break_glass = id = ANY ($2::bigint[])
        WHERE tenant_id = $1 AND user_type <> 'service' AND break_glass <> (id = ANY ($2::bigint[]))`,
      [tenantId, [...userIds]],
    );
  }

  async setPasswordLogin(tenantId: string, on: boolean): Promise<void> {
    await this.database.query('UPDATE tenant SET password_login = $2 WHERE tenant_id = $1', [
      tenantId,
      on,
    ]);
  }
}
