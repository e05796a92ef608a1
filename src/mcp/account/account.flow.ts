import { Inject, Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import { z } from 'zod';
import { CallerResolver, mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { wireTime } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { OneTimeStore, SharedRedis } from '../../platform/redis/index.js';
import { hashOf } from '../../effect/index.js';
import { LevelNeededError } from '../../grant/index.js';
import { refusedBy, summaryOf } from '../../identity/index.js';
import type { ToolServer } from '../tool-server.entity.js';
import { ToolServerDisabledError, ToolServerError } from '../tool-server.errors.js';
import { ToolServerRepository } from '../tool-server.repository.js';
import { reasonOf } from '../mcp-client.js';
import { ServerAccountView } from './account.dto.js';
import type { ConnectFailure } from './account.dto.js';
import { ServerAccountRepository } from './account.repository.js';
import { ServerAccounts } from './accounts.js';
import { OAuthClients } from './oauth.client.js';
import type { Authorization, OAuthClient, ReceivedTokens } from './oauth.client.js';

export const FLOW_SECONDS = 600;
const LABEL = msg`The tool server`;
const EDIT = 'mcp:server:edit';

/** A connection between its start and the answer of the authorization server. */
const startedFlow = z.object({
  serverId: z.number(),
  /** The sign-in that must still be open when the answer comes. */
  signIn: z.object({
    tenantId: z.string(),
    homeTenantId: z.string(),
    userId: z.number(),
    clientId: z.string(),
    loginSessionId: z.string(),
    validUntil: z.number().optional(),
  }),
  issuer: z.string(),
  clientId: z.string(),
  resource: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  browser: z.string(),
});
type StartedFlow = z.output<typeof startedFlow>;

/** The address of this service, without a final slash, and the browser. */
export interface FlowContext {
  readonly base: string;
  readonly browser: string | undefined;
}

interface FlowStart {
  readonly base: string;
  readonly browser: string;
  readonly returnTo: string;
}

/** Where the browser goes after the answer of the authorization server. */
export interface FlowEnd {
  readonly returnTo: string;
  readonly failure?: ConnectFailure;
}

/**
 * Connects accounts at the authorization servers of tool servers: the authorization code flow with PKCE. A flow belongs to a sign-in
 * and a browser, has an address of its own for each server (a second wall against mix-up, RFC 9700, 4.4.2.2), and is used once.
 */
@Injectable()
export class AccountFlows {
  private readonly logger = new Logger(AccountFlows.name);
  private readonly flows: OneTimeStore;

  constructor(
    private readonly rows: ServerAccountRepository,
    private readonly servers: ToolServerRepository,
    private readonly accounts: ServerAccounts,
    private readonly oauth: OAuthClients,
    private readonly callers: CallerResolver,
    private readonly audit: AuditLog,
    @Inject(CONFIG) private readonly config: Config,
    redis: SharedRedis,
    database: Database,
  ) {
    this.flows = new OneTimeStore(redis, database, {
      prefix: 'mcp:state:',
      lifetimeSeconds: FLOW_SECONDS,
    });
  }

  /** The servers whose account the caller can connect, by name: their own, and shared ones of servers that they may change. */
  async list(caller: Caller): Promise<ServerAccountView[]> {
    const servers = await this.servers.connectable(caller, mayAny(caller, [EDIT]));
    const accounts = await this.rows.byServer(caller, servers);
    return servers.map(({ id, name, account }) =>
      ServerAccountView.of({
        serverId: id,
        serverName: name,
        account: account === 'shared' ? 'shared' : 'personal',
        connected: accounts.has(id),
        connectTime: wireTime(accounts.get(id)?.createTime),
      }),
    );
  }

  /** The address of the authorization server to open in the browser that the text names. Throws ToolServerError. */
  async start(
    caller: Caller,
    id: number,
    { base, browser, returnTo }: FlowStart,
    signal: AbortSignal,
  ): Promise<URL> {
    const server = await this.connectable(caller, id);
    if (!server.enabled) throw new ToolServerDisabledError(server.name);
    try {
      const authorization = await this.accounts.authorizationOf(server, signal);
      const client = await this.clientFor(server, authorization, base, signal);
      const redirectUri = redirectUriOf(base, id);
      const [state, verifier] = [oidc.randomState(), oidc.randomPKCECodeVerifier()];
      const { tenantId, homeTenantId, userId, clientId, loginSessionId, validUntil } = caller;
      const flow: StartedFlow = {
        serverId: id,
        signIn: { tenantId, homeTenantId, userId, clientId, loginSessionId, validUntil },
        issuer: authorization.server.issuer,
        clientId: client.clientId,
        resource: authorization.resource,
        ...{ verifier, returnTo, browser: hashOf(browser) },
      };
      const values = { redirectUri, state, verifier };
      const address = await this.oauth.authorizationAddress(authorization, client, values);
      await this.flows.keep(hashOf(state), JSON.stringify(flow));
      return address;
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolServerError(server.name, reasonOf(error), { cause: error, isUncertain: false });
    }
  }

  /** Takes the answer of the authorization server, in the query of its redirect. */
  async answer(
    serverId: number,
    query: URLSearchParams,
    { base, browser }: FlowContext,
  ): Promise<FlowEnd> {
    const state = query.get('state') ?? '';
    const text = await this.flows.take(hashOf(state));
    const flow = text === undefined ? undefined : startedFlow.safeParse(JSON.parse(text)).data;
    const isOfBrowser = browser !== undefined && flow?.browser === hashOf(browser);
    if (flow?.serverId !== serverId || !isOfBrowser) return { returnTo: '/', failure: 'expired' };
    const { returnTo, signIn } = flow;
    const caller = await inTenant(signIn.homeTenantId, () =>
      this.callers.refresh({ ...signIn, origin: 'rest' }),
    );
    if (caller?.tenantId !== signIn.tenantId) return { returnTo, failure: 'signed-out' };
    const failure = await inTenant(caller.tenantId, () =>
      this.settle(caller, flow, new URL(`${redirectUriOf(base, serverId)}?${query.toString()}`)),
    );
    return failure === undefined ? { returnTo } : { returnTo, failure };
  }

  /** Removes the account with which the caller uses the server, and revokes its grant. */
  async disconnect(caller: Caller, id: number): Promise<void> {
    const server = await this.connectable(caller, id);
    const account = await this.rows.of(server, caller.userId);
    if (!account) throw new NotFoundError(msg`The account`);
    const tokens = this.rows.tokensOf(account);
    await this.rows.remove(account);
    await this.record(caller, server, { account: 'disconnected', issuer: account.issuer });
    if (tokens) await this.accounts.revoke(server, account, tokens);
  }

  /** The server, if the caller may connect its account. */
  private async connectable(caller: Caller, id: number): Promise<ToolServer> {
    const server = await this.servers.reached(caller, id, 'use');
    if (server?.auth !== 'oauth' || server.account === 'client') throw new NotFoundError(LABEL);
    if (server.account === 'personal') return server;
    const mayChange =
      mayAny(caller, [EDIT]) && (await this.servers.reached(caller, id, 'write')) !== null;
    if (!mayChange) throw new LevelNeededError(LABEL, 'write');
    return server;
  }

  private async settle(
    caller: Caller,
    flow: StartedFlow,
    address: URL,
  ): Promise<ConnectFailure | undefined> {
    const { issuer, clientId, serverId } = flow;
    const server = await this.connectable(caller, serverId).catch(() => undefined);
    if (!server?.enabled) return 'forbidden';
    const client = this.accounts.clientOf(server, issuer, clientId);
    if (!client) return 'expired';
    let received: ReceivedTokens;
    try {
      const metadata = await this.oauth.serverOf(issuer);
      const { state = '' } = Object.fromEntries(address.searchParams);
      received = await this.oauth.redeem(metadata, client, { ...flow, address, state });
    } catch (error) {
      const reason = refusedBy(error)?.refusal;
      if (reason === undefined) throw error;
      const details = { tenant: server.tenantId, toolServer: serverId, reason };
      this.logger.warn({
        msg: 'Account of tool server refused',
        ...details,
        error: summaryOf(error),
      });
      await this.record(caller, server, { account: 'refused', issuer, reason });
      return failureOf(reason);
    }
    await this.rows.connect(server, caller.userId, issuer, received);
    await this.record(caller, server, { account: 'connected', issuer });
    return undefined;
  }

  /** The client of the server: entered by an administrator, registered before, or introduced now. */
  private async clientFor(
    server: ToolServer,
    authorization: Authorization,
    base: string,
    signal: AbortSignal,
  ): Promise<OAuthClient> {
    const { issuer } = authorization.server;
    const enteredClient = await this.accounts.enteredClient(server, issuer);
    if (enteredClient) return enteredClient;
    const { registration } = this.servers.secretOf(server);
    if (registration?.issuer === issuer) return registration;
    const { PUBLIC_URL } = this.config;
    const isReadable = PUBLIC_URL?.startsWith('https://') === true;
    const introduction = {
      redirectUri: redirectUriOf(base, server.id),
      documentAddress: isReadable ? documentAddressOf(PUBLIC_URL, server.id) : undefined,
    };
    const client = await this.oauth.introduce(authorization, introduction, signal);
    const { isRegistered, ...facts } = client;
    if (!isRegistered) return facts;
    const isStored = await this.servers.addToSecret(server, {
      registration: { ...facts, issuer },
    });
    if (isStored) return facts;
    // Another process has registered at the same time: its client is the one.
    const current = await this.servers.servers.get(server.tenantId, server.id);
    return this.servers.secretOf(current).registration ?? facts;
  }

  private async record(caller: Caller, server: ToolServer, detail: object): Promise<void> {
    const { id, account } = server;
    await this.audit.record(caller, {
      action: 'update',
      target: 'tool_server',
      id,
      detail: { ...detail, kind: account },
    });
  }
}

/** Where the authorization server leads back to. */
export function redirectUriOf(base: string, serverId: number): string {
  return `${base}/mcp/account/${serverId}/callback`;
}

/** The client id of Plinth at servers that read client id metadata documents. */
export function documentAddressOf(base: string, serverId: number): string {
  return `${base}/mcp/account/${serverId}/client`;
}

function failureOf(reason: string): ConnectFailure {
  return reason === 'denied' || reason === 'unavailable' || reason === 'configuration'
    ? reason
    : 'invalid';
}
