import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AuthProvider } from '@modelcontextprotocol/client';
import * as oidc from 'openid-client';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { currentRequest } from '../../platform/http/index.js';
import { isInvalidGrant, summaryOf } from '../../identity/index.js';
import { McpClients } from '../mcp-client.js';
import type { ToolServer } from '../tool-server.entity.js';
import { ToolServerRepository } from '../tool-server.repository.js';
import type { AccountTokens, ServerAccount } from './account.entity.js';
import { AccountBusyError, AccountNeededError, OtherIssuerError } from './account.errors.js';
import { ServerAccountRepository } from './account.repository.js';
import { OAuthClients } from './oauth.client.js';
import type { Authorization, OAuthClient } from './oauth.client.js';

/** A token that ends this soon is renewed before it is used. */
const EXPIRES_SOON_MS = 30_000;
/** How often, and how long, a renewal of another process is waited for; longer than its lease. */
const POLL_MS = 100;
const WAIT_MS = 70_000;

/** Tokens of accounts for the calls of tool servers: renewed without a word, by one process at a time. */
@Injectable()
export class ServerAccounts {
  private readonly logger = new Logger(ServerAccounts.name);

  constructor(
    private readonly rows: ServerAccountRepository,
    private readonly servers: ToolServerRepository,
    private readonly clients: McpClients,
    private readonly oauth: OAuthClients,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The token that the caller's connection to the server sends, renewed once if the server refuses it. Throws AccountNeededError, or
   * why it cannot be renewed. Do not call it in a transaction.
   */
  async authProvider(
    server: ToolServer,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AuthProvider> {
    let token = await this.tokenOf(server, caller, signal);
    return {
      token: () => Promise.resolve(token),
      onUnauthorized: async () => {
        token = await this.tokenOf(server, caller, signal, token);
      },
    };
  }

  /** Where the authorization server of the tool server is, and what it is asked for. */
  async authorizationOf(server: ToolServer, signal: AbortSignal): Promise<Authorization> {
    const challenge = await this.clients.challengeOf(server.address, signal);
    const authorization = await this.oauth.discover(server.address, challenge, signal);
    return { ...authorization, scope: server.scope ?? authorization.scope };
  }

  /** The client that an administrator has entered; undefined if none was. It stays with the authorization server that it is first used for. */
  async enteredClient(server: ToolServer, issuer: string): Promise<OAuthClient | undefined> {
    if (server.clientId === null) return undefined;
    const secret = this.servers.secretOf(server);
    if (secret.issuer === undefined) await this.servers.addToSecret(server, { issuer });
    else if (secret.issuer !== issuer) throw new OtherIssuerError(server.name, issuer);
    return { clientId: server.clientId, clientSecret: secret.clientSecret, isEntered: true };
  }

  /** The client that the tokens were issued to; undefined if the server has another one now. */
  clientOf(server: ToolServer, issuer: string, clientId: string): OAuthClient | undefined {
    const { clientSecret, registration, issuer: boundIssuer } = this.servers.secretOf(server);
    if (server.clientId !== null) {
      const isSame = server.clientId === clientId && (boundIssuer ?? issuer) === issuer;
      return isSame ? { clientId, clientSecret, isEntered: true } : undefined;
    }
    if (registration?.clientId === clientId) {
      return registration.issuer === issuer ? registration : undefined;
    }
    // A client id metadata document.
    return clientId.startsWith('https://') ? { clientId } : undefined;
  }

  /** Revokes the grant, if the authorization server offers it. Failures are logged. */
  async revoke(
    server: ToolServer,
    { issuer }: ServerAccount,
    tokens: AccountTokens,
  ): Promise<void> {
    try {
      const client = this.clientOf(server, issuer, tokens.clientId);
      if (client) await this.oauth.revoke(await this.oauth.serverOf(issuer), client, tokens);
    } catch (error) {
      this.logFailure('Failed to revoke grant of tool server', server, error);
    }
  }

  private async tokenOf(
    server: ToolServer,
    caller: Caller,
    signal: AbortSignal,
    refusedToken?: string,
  ): Promise<string> {
    const deadline = performance.now() + WAIT_MS;
    while (performance.now() < deadline) {
      const account = await this.rows.of(server, caller.userId);
      const tokens = account ? this.rows.tokensOf(account) : undefined;
      if (!account || !tokens) return this.clientToken(server, caller, signal);
      if (tokens.accessToken !== refusedToken && !endsSoon(account)) return tokens.accessToken;
      const lease = await this.rows.lease(account);
      if (lease !== undefined) {
        const renewed = await this.renew(server, account, tokens, lease);
        return renewed ?? (await this.clientToken(server, caller, signal));
      }
      await delay(POLL_MS, undefined, { signal });
    }
    throw new AccountBusyError(server.name);
  }

  /** Renews the tokens under the lease, which it ends. Undefined, without the account, if the grant has ended. */
  private async renew(
    server: ToolServer,
    account: ServerAccount,
    tokens: AccountTokens,
    lease: string,
  ): Promise<string | undefined> {
    const client = this.clientOf(server, account.issuer, tokens.clientId);
    try {
      if (client && tokens.refreshToken !== undefined) {
        const metadata = await this.oauth.serverOf(account.issuer);
        const received = await this.oauth.refresh(metadata, client, tokens);
        await this.rows.renewed(account, received, lease);
        return received.tokens.accessToken;
      }
    } catch (error) {
      const isForgotten = isUnknownClient(error) && client?.isEntered === undefined;
      if (!isForgotten && !isInvalidGrant(error)) {
        await this.rows.release(account, lease);
        throw error;
      }
      if (isForgotten) await this.servers.addToSecret(server, { registration: undefined });
      this.logFailure('Grant of tool server has ended', server, error);
    }
    await this.rows.removeLeased(account, lease);
    return undefined;
  }

  /** A token for Plinth itself, where that is the account. Two requests at once do no harm: each token is valid. */
  private async clientToken(
    server: ToolServer,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<string> {
    if (server.account !== 'client') throw this.needed(server);
    const authorization = await this.authorizationOf(server, signal);
    const { issuer } = authorization.server;
    const client = await this.enteredClient(server, issuer);
    if (!client) throw this.needed(server);
    const received = await this.oauth.clientToken(authorization, client);
    await this.rows.connect(server, caller.userId, issuer, received);
    return received.tokens.accessToken;
  }

  private needed({ id, name, account }: ToolServer): Error {
    const base = this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? '';
    const isPersonal = account === 'personal';
    const address = isPersonal ? `${base}/account` : `${base}/tool-servers/${id}`;
    return new AccountNeededError(name, address, isPersonal);
  }

  private logFailure(text: string, { tenantId: tenant, id }: ToolServer, error: unknown): void {
    this.logger.warn({ msg: text, tenant, toolServer: id, error: summaryOf(error) });
  }
}

function endsSoon({ expireTime }: ServerAccount): boolean {
  return expireTime !== null && expireTime.getTime() - Date.now() < EXPIRES_SOON_MS;
}

function isUnknownClient(error: unknown): boolean {
  return error instanceof oidc.ResponseBodyError && error.error === 'invalid_client';
}
