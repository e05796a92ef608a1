import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import type { Caller } from '../../platform/access/index.js';
import { Database, SealedColumns, TenantScoped } from '../../platform/database/index.js';
import type { SealedColumn } from '../../platform/database/index.js';
import { msg } from '../../platform/message/index.js';
import type { ToolServer } from '../tool-server.entity.js';
import { ServerAccount } from './account.entity.js';
import type { AccountTokens } from './account.entity.js';
import type { ReceivedTokens } from './oauth.client.js';

/** Longer than the requests of one renewal. */
const LEASE_SECONDS = 60;

/** Tokens are sealed by SECRET_KEY and bound to their row. */
@Injectable()
export class ServerAccountRepository {
  private readonly accounts: TenantScoped<ServerAccount>;
  private readonly sealed: SealedColumn;

  constructor(
    private readonly database: Database,
    sealed: SealedColumns,
  ) {
    this.sealed = sealed.add('server_account', 'tokens');
    this.accounts = new TenantScoped(database, ServerAccount, msg`The account`);
  }

  /** The account with which the user uses the server. */
  async of({ tenantId, id, account }: ToolServer, userId: number): Promise<ServerAccount | null> {
    const owner = account === 'personal' ? userId : IsNull();
    return this.accounts.findOne(tenantId, { serverId: id, userId: owner });
  }

  /** The accounts with which the caller uses the servers, by their ids. */
  async byServer(
    { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
    servers: readonly ToolServer[],
  ): Promise<Map<number, ServerAccount>> {
    const idsOf = (isPersonal: boolean): number[] =>
      servers.filter((one) => (one.account === 'personal') === isPersonal).map(({ id }) => id);
    const accounts = await this.accounts.find(tenantId, [
      { serverId: In(idsOf(true)), userId },
      { serverId: In(idsOf(false)), userId: IsNull() },
    ]);
    return new Map(accounts.map((account) => [account.serverId, account]));
  }

  /** The tokens; undefined if no key of the settings decrypts them. */
  tokensOf({ tenantId, id, tokens }: ServerAccount): AccountTokens | undefined {
    const text = tokens === null ? undefined : this.sealed.open(tenantId, id, tokens);
    return text === undefined ? undefined : (JSON.parse(text) as AccountTokens);
  }

  /** Stores the account in place of an earlier one. A renewal of that writes nothing any more. */
  async connect(
    { tenantId, id, account }: ToolServer,
    userId: number,
    issuer: string,
    received: ReceivedTokens,
  ): Promise<void> {
    await this.database.transaction(async () => {
      const [row] = await this.database.query<{ id: number }>(
        `INSERT INTO server_account (tenant_id, server_id, user_id, issuer) VALUES ($1, $2, $3, $4)
           ON CONFLICT (server_id, user_id) DO UPDATE
             SET issuer = excluded.issuer, lease_token = NULL, lease_until = NULL, create_time = now()
         RETURNING id`,
        [tenantId, id, account === 'personal' ? userId : null, issuer],
      );
      if (!row) throw new Error('The account was not stored.');
      await this.write(tenantId, row.id, received, null);
    });
  }

  /** The right to renew the tokens, which one process has at a time; undefined while another has it. */
  async lease({ tenantId, id, tokens }: ServerAccount): Promise<string | undefined> {
    const token = randomUUID();
    const leased = await this.database.query(
      `UPDATE server_account SET lease_token = $4, lease_until = now() + make_interval(secs => $5)
        WHERE tenant_id = $1 AND id = $2 AND tokens = $3 AND (lease_until IS NULL OR lease_until < now())
        RETURNING id`,
      [tenantId, id, tokens, token, LEASE_SECONDS],
    );
    return leased.length > 0 ? token : undefined;
  }

  /** Stores renewed tokens and ends the lease. Writes nothing if the lease was lost. */
  async renewed(
    { tenantId, id }: ServerAccount,
    received: ReceivedTokens,
    lease: string,
  ): Promise<void> {
    await this.write(tenantId, id, received, lease);
  }

  async release({ tenantId, id }: ServerAccount, lease: string): Promise<void> {
    await this.database.query(
      `UPDATE server_account SET lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND id = $2 AND lease_token = $3`,
      [tenantId, id, lease],
    );
  }

  /** Removes an account whose grant has ended, unless the lease was lost. */
  async removeLeased({ tenantId, id }: ServerAccount, lease: string): Promise<void> {
    await this.database.query(
      'DELETE FROM server_account WHERE tenant_id = $1 AND id = $2 AND lease_token = $3',
      [tenantId, id, lease],
    );
  }

  async remove({ tenantId, id }: ServerAccount): Promise<void> {
    await this.accounts.remove(tenantId, [id]);
  }

  /** Removes the accounts of all users of the server. */
  async removeAll(tenantId: string, serverId: number): Promise<void> {
    await this.database.query(
      'DELETE FROM server_account WHERE tenant_id = $1 AND server_id = $2',
      [tenantId, serverId],
    );
  }

  private async write(
    tenantId: string,
    id: number,
    { tokens, expireTime }: ReceivedTokens,
    lease: string | null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE server_account
          SET tokens = $3, expire_time = $4, lease_token = NULL, lease_until = NULL, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND lease_token IS NOT DISTINCT FROM $5`,
      [tenantId, id, this.sealed.seal(tenantId, id, JSON.stringify(tokens)), expireTime, lease],
    );
  }
}
