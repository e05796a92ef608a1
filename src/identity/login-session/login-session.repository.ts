import { Injectable } from '@nestjs/common';
import { acrossTenants, Database, SharedReads } from '../../platform/database/index.js';
import { orderOf, Page, rowsOf } from '../../platform/http/index.js';
import type { PageQuery } from '../../platform/http/index.js';
import { LoginSession } from './login-session.entity.js';

/** The sign-in a token names. */
export interface SignInKey {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: number;
  readonly clientId: string;
}

export interface SignInState {
  readonly userName: string;
  readonly homeRevision: number;
  readonly actingTenantId: string | null;
  readonly actingRevision: number | null;
  readonly inlineThinking: boolean;
  readonly inlineSources: boolean;
  readonly inlineFailures: boolean;
  /** The recorded last activity is old enough to record another. */
  readonly renewalDue: boolean;
}

/** Runs once for every request: whether the sign-in is valid, and the revisions that caches are valid for. */
const SIGN_IN_STATE = `
    SELECT u.user_name AS "userName",
           home.revision AS "homeRevision",
           acting.tenant_id AS "actingTenantId",
           acting.revision AS "actingRevision",
           c.inline_thinking AS "inlineThinking",
           c.inline_sources AS "inlineSources",
           c.inline_failures AS "inlineFailures",
           s.last_active_time < now() - make_interval(secs => least(60, s.active_timeout / 4.0)) AS "renewalDue"
      FROM login_session s
      JOIN user_account u ON u.id = s.user_id AND u.tenant_id = s.tenant_id
      JOIN client c ON c.client_id = s.client_id
      JOIN tenant home ON home.tenant_id = s.tenant_id
      LEFT JOIN tenant acting ON acting.tenant_id = s.acting_tenant_id
     WHERE s.id = $1 AND s.tenant_id = $2 AND s.user_id = $3 AND s.client_id = $4
       AND s.expire_time > now()
       AND s.last_active_time > now() - make_interval(secs => s.active_timeout)
       AND u.status = '0'
       AND c.status = '0'
       AND (home.tenant_id = '000000'
            OR (home.status = '0' AND (home.expire_time IS NULL OR home.expire_time > now())))`;

export type NewSignIn = Omit<LoginSession, 'actingTenantId' | 'createTime' | 'lastActiveTime'>;

/** A valid sign-in with the names of what it refers to. */
export interface OpenSignIn {
  readonly id: string;
  readonly userId: number;
  readonly userName: string;
  readonly clientKey: string;
  readonly deviceType: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly createTime: Date;
  readonly lastActiveTime: Date;
  readonly expireTime: Date;
}

export interface SignInFilter {
  readonly userId?: number | undefined;
  readonly userName?: string | undefined;
  readonly ipaddr?: string | undefined;
}

const OPEN_SIGN_INS = `
  FROM login_session s
  JOIN user_account u ON u.id = s.user_id AND u.tenant_id = s.tenant_id
  JOIN client c ON c.client_id = s.client_id
 WHERE s.tenant_id = $1
   AND s.expire_time > now()
   AND s.last_active_time > now() - make_interval(secs => s.active_timeout)
   AND ($2::bigint IS NULL OR s.user_id = $2)
   AND ($3::text IS NULL OR strpos(lower(u.user_name), lower($3)) > 0)
   AND ($4::text IS NULL OR strpos(s.ip, $4) > 0)`;

const SORT_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['userId', 's.user_id'],
  ['userName', 'u.user_name'],
  ['clientKey', 'c.client_key'],
  ['deviceType', 'c.device_type'],
  ['ip', 's.ip'],
  ['userAgent', 's.user_agent'],
  ['createTime', 's.create_time'],
  ['lastActiveTime', 's.last_active_time'],
  ['expireTime', 's.expire_time'],
]);

/** The order that the client asks for, then newest first. Only columns of the list reach the statement. */
function orderBy(query: PageQuery): string {
  const requestedOrder = orderOf(query).flatMap(([name, direction]) => {
    const column = SORT_COLUMNS.get(name);
    return column === undefined ? [] : [`${column} ${direction}`];
  });
  return [...requestedOrder, 's.create_time DESC', 's.id'].join(', ');
}

@Injectable()
export class LoginSessionRepository {
  private readonly states = new SharedReads<SignInState | undefined>();

  constructor(private readonly database: Database) {}

  /** The state of the sign-in; undefined if it is not valid. */
  state({ id, tenantId, userId, clientId }: SignInKey): Promise<SignInState | undefined> {
    const key = [id, tenantId, userId, clientId];
    return this.states.get(key.join(' '), async () => {
      const [row] = await this.database.prepared<SignInState>(SIGN_IN_STATE, key);
      return row;
    });
  }

  async renew(tenantId: string, id: string): Promise<void> {
    await this.database.query(
      'UPDATE login_session SET last_active_time = now() WHERE tenant_id = $1 AND id = $2',
      [tenantId, id],
    );
  }

  /**
   * Inserts the sign-in and records its time and address with the user. False if the user was disabled or their password
   * changed since it was verified: roll the transaction back then.
   */
  async open(session: NewSignIn, passwordHash: string): Promise<boolean> {
    await this.database.repository(LoginSession).insert(session);
    const rows = await this.database.query(
      `UPDATE user_account SET login_ip = $3, login_date = now()
        WHERE tenant_id = $1 AND id = $2 AND status = '0' AND password_hash = $4
        RETURNING id`,
      [session.tenantId, session.userId, session.ip, passwordHash],
    );
    return rows.length > 0;
  }

  async end(tenantId: string, id: string): Promise<void> {
    await this.database.query('DELETE FROM login_session WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      id,
    ]);
  }

  /** Ends all sign-ins of the user except the given one. */
  async endAllOf(tenantId: string, userId: number, exceptId?: string): Promise<void> {
    await this.database.query(
      'DELETE FROM login_session WHERE tenant_id = $1 AND user_id = $2 AND id IS DISTINCT FROM $3::uuid',
      [tenantId, userId, exceptId ?? null],
    );
  }

  /** Ends the sign-ins of the tenant that have switched to the other one. */
  async endActingIn(tenantId: string, actingTenantId: string): Promise<void> {
    await this.database.query(
      'DELETE FROM login_session WHERE tenant_id = $1 AND acting_tenant_id = $2',
      [tenantId, actingTenantId],
    );
  }

  async actFor(tenantId: string, id: string, actingTenantId: string | null): Promise<void> {
    await this.database.query(
      'UPDATE login_session SET acting_tenant_id = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, id, actingTenantId],
    );
  }

  async page(tenantId: string, query: PageQuery, filter: SignInFilter): Promise<Page<OpenSignIn>> {
    const { userId, userName, ipaddr } = filter;
    const values = [tenantId, userId ?? null, userName || null, ipaddr || null];
    const [counted] = await this.database.query<{ total: number }>(
      `SELECT count(*) AS total ${OPEN_SIGN_INS}`,
      values,
    );
    const { take, skip } = rowsOf(query);
    const rows = await this.database.query<OpenSignIn>(
      `SELECT s.id, s.user_id AS "userId", u.user_name AS "userName", c.client_key AS "clientKey",
              c.device_type AS "deviceType", s.ip, s.user_agent AS "userAgent",
              s.create_time AS "createTime", s.last_active_time AS "lastActiveTime",
              s.expire_time AS "expireTime" ${OPEN_SIGN_INS}
        ORDER BY ${orderBy(query)} LIMIT $5 OFFSET $6`,
      [...values, take, skip],
    );
    return new Page(rows, counted?.total ?? 0);
  }

  /** Whether the sign-in of the user exists and is neither expired nor idle. */
  async isOpen(tenantId: string, id: string, userId: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM login_session
        WHERE tenant_id = $1 AND id = $2 AND user_id = $3 AND expire_time > now()
          AND last_active_time > now() - make_interval(secs => active_timeout)`,
      [tenantId, id, userId],
    );
    return rows.length > 0;
  }

  /** The user of the sign-in, if it exists. */
  async userOf(tenantId: string, id: string): Promise<number | undefined> {
    const session = await this.database.repository(LoginSession).findOneBy({ tenantId, id });
    return session?.userId;
  }

  /** Deletes the sign-ins of all tenants that are no longer valid. */
  async sweep(): Promise<void> {
    await acrossTenants('sweep of sign-ins', () =>
      this.database.query(
        `DELETE FROM login_session
        WHERE expire_time < now()
           OR last_active_time < now() - make_interval(secs => active_timeout)`,
      ),
    );
  }
}
