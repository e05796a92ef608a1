import { Inject, Injectable } from '@nestjs/common';
import { requireUnlimitedKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { currentRequest, defined, Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { Consent } from '../effect/index.js';
import { Grants, LevelNeededError } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import { ClientNeededError } from './account/account.errors.js';
import { redirectUriOf } from './account/account.flow.js';
import { ServerAccountRepository } from './account/account.repository.js';
import { McpClients } from './mcp-client.js';
import { ServerConnections } from './server-connections.js';
import type {
  CreateToolServerBody,
  ServerToolChange,
  ToolServerListQuery,
  UpdateToolServerBody,
} from './tool-server.dto.js';
import type { ServerSecret, ServerTool, ToolServer } from './tool-server.entity.js';
import {
  InvalidHeadersError,
  MissingSecretError,
  OtherToolTextError,
} from './tool-server.errors.js';
import { ToolServerRepository } from './tool-server.repository.js';
import { ServerToolView, ToolServerCheckView, ToolServerView } from './tool-server.view.js';
import { defaultConsent, stateOf } from './tool-text.js';

const LABEL = msg`The tool server`;
const MAX_HEADERS = 20;
const MAX_HEADER_CHARS = 10_000;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]{1,100}$/;
/** What the protocol and HTTP set themselves. */
const RESERVED_HEADER =
  /^(?:mcp-.*|host|content-.*|accept|transfer-encoding|connection|last-event-id)$/i;
const HEADER_VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/;

type SecretFields = Pick<
  UpdateToolServerBody,
  'auth' | 'token' | 'headers' | 'address' | 'account' | 'clientId' | 'clientSecret'
>;

/** Tool servers. Permissions say what a user may do with tool servers, grants with which of them. */
@Injectable()
export class ToolServerService {
  constructor(
    private readonly repository: ToolServerRepository,
    private readonly connections: ServerConnections,
    private readonly clients: McpClients,
    private readonly accounts: ServerAccountRepository,
    private readonly grants: Grants,
    private readonly database: Database,
    private readonly audit: AuditLog,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(caller: Caller, query: ToolServerListQuery): Promise<Page<ToolServerView>> {
    const page = await this.repository.page(caller, query);
    const views = await this.views(caller, page.rows);
    return new Page(views, page.total);
  }

  async get(caller: Caller, id: number): Promise<ToolServerView> {
    const [view] = await this.views(caller, [await this.reached(caller, id, 'read')]);
    if (!view) throw new NotFoundError(LABEL);
    return view;
  }

  async create(caller: Caller, body: CreateToolServerBody): Promise<ToolServerView> {
    requireUnlimitedKey(caller, 'agents', msg`agents`);
    const { token, headers, clientSecret, ...fields } = body;
    const secret = this.readSecret(body);
    return this.database.transaction(async () => {
      const userId = caller.userId || null;
      const values = defined({ ...fields, ...oauthOf(fields), userId });
      const id = await this.repository.insert(caller.tenantId, values, secret ?? {});
      await this.grants.own(caller, 'tool-server', id);
      const { name, address, auth } = fields;
      await this.record(caller, 'create', id, { name, address: originOf(address), auth });
      return this.get(caller, id);
    });
  }

  async update(caller: Caller, body: UpdateToolServerBody): Promise<ToolServerView> {
    requireUnlimitedKey(caller, 'agents', msg`agents`);
    const { id, revision, token, headers, clientSecret, ...fields } = body;
    return this.database.transaction(async () => {
      const before = await this.reached(caller, id, 'write');
      const current = () => this.get(caller, id);
      await this.repository.servers.requireRevision(caller.tenantId, id, {
        expected: revision,
        current,
      });
      const secret = this.readSecret(body, before);
      const oauth = oauthOf(fields, before);
      const isMoved = fields.address !== undefined && fields.address !== before.address;
      // What another address is capable of, is found out with the next connection.
      const values = { ...fields, ...oauth, ...(isMoved && { discovery: null }) };
      // Tokens are for one resource, one client and one kind of account.
      if (isMoved || oauth.account !== before.account || oauth.clientId !== before.clientId) {
        await this.accounts.removeAll(caller.tenantId, id);
      }
      await this.repository.update(caller.tenantId, id, values, secret);
      await this.record(caller, 'update', id, changeForAudit(before, fields, secret));
      return this.get(caller, id);
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    requireUnlimitedKey(caller, 'agents', msg`agents`);
    await this.database.transaction(async () => {
      for (const id of ids) await this.reached(caller, id, 'manage');
      await this.repository.servers.remove(caller.tenantId, ids);
      for (const id of ids) await this.record(caller, 'delete', id);
    });
  }

  async check(caller: Caller, id: number, signal: AbortSignal): Promise<ToolServerCheckView> {
    const server = await this.reached(caller, id, 'write');
    const { facts, skipped } = await this.connections.with(
      server,
      caller,
      signal,
      async (connection) => ({
        skipped: await this.connections.list(server, connection),
        facts: connection.facts,
      }),
    );
    const tools = await this.repository.toolsOf(caller.tenantId, id);
    const listed = tools.filter((tool) => tool.listed !== null);
    return ToolServerCheckView.of({
      protocolVersion: facts.protocolVersion,
      serverName: facts.name,
      serverVersion: facts.version,
      toolCount: listed.length,
      waitingCount: listed.filter((tool) => stateOf(tool) !== 'accepted').length,
      skippedCount: skipped,
    });
  }

  async tools(caller: Caller, id: number): Promise<ServerToolView[]> {
    await this.reached(caller, id, 'read');
    const tools = await this.repository.toolsOf(caller.tenantId, id);
    return tools.map((tool) => ServerToolView.from(tool));
  }

  async changeTools(
    caller: Caller,
    id: number,
    changes: readonly ServerToolChange[],
  ): Promise<ServerToolView[]> {
    const { tenantId } = caller;
    return this.database.transaction(async () => {
      const server = await this.reached(caller, id, 'write');
      const existing = await this.repository.toolsOf(tenantId, id);
      for (const { id: toolId, accept, consent } of changes) {
        const tool = existing.find((one) => one.id === toolId);
        if (!tool) throw new NotFoundError(msg`The tool`);
        if (accept !== undefined) {
          const chosen = consent ?? consentAfter(tool);
          await this.repository.accept(tenantId, tool, accept, chosen);
          const detail = { server: server.name, tool: tool.name, hash: accept, consent: chosen };
          await this.record(caller, 'permission-change', id, detail);
        } else if (consent !== undefined && consent !== tool.consent) {
          await this.repository.tools.update(tenantId, toolId, { consent });
          const detail = { server: server.name, tool: tool.name, consent };
          await this.record(caller, 'permission-change', id, detail);
        }
      }
      return this.tools(caller, id);
    });
  }

  /** The server, if the caller has the level on it. NotFoundError for one that they may not read. */
  private async reached(caller: Caller, id: number, level: GrantLevel): Promise<ToolServer> {
    const server = await this.repository.reached(caller, id, level);
    if (server) return server;
    const isReadable =
      level !== 'read' && (await this.repository.reached(caller, id, 'read')) !== null;
    throw isReadable ? new LevelNeededError(LABEL, level) : new NotFoundError(LABEL);
  }

  private async views(caller: Caller, servers: readonly ToolServer[]): Promise<ToolServerView[]> {
    const ids = servers.map(({ id }) => id);
    const levels = await this.grants.levels(caller, 'tool-server', ids);
    const accounts = await this.accounts.byServer(caller, servers);
    const base = this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? '';
    return servers.map((server) => {
      const { id, account } = server;
      const isOfPerson = account === 'personal' || account === 'shared';
      return ToolServerView.from(server, this.repository.secretOf(server), {
        level: levels.get(id) ?? 'read',
        connected: accounts.has(id),
        redirectUri: isOfPerson ? redirectUriOf(base, id) : null,
      });
    });
  }

  /**
   * The credentials after a change; undefined for those that stay. Those of another origin are never sent to a new one. Throws
   * ForbiddenAddressError for an address that must not be called.
   */
  private readSecret(fields: SecretFields, before?: ToolServer): ServerSecret | undefined {
    const { auth = before?.auth ?? 'none', address = before?.address ?? '' } = fields;
    this.clients.checkAddress(address, auth !== 'none');
    const isSame = before?.auth === auth && originOf(before.address) === originOf(address);
    if (auth === 'none') return isSame ? undefined : {};
    if (auth === 'token') {
      if (fields.token) return { token: fields.token };
      if (isSame && fields.token === undefined) return undefined;
      throw new MissingSecretError('token');
    }
    if (auth === 'oauth') return readClient(fields, before, isSame);
    if (fields.headers) return { headers: readHeaders(fields.headers) };
    if (isSame) return undefined;
    throw new MissingSecretError('headers');
  }

  private async record(
    caller: Caller,
    action: 'create' | 'update' | 'delete' | 'permission-change',
    id: number,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.audit.record(caller, { action, target: 'tool_server', id, detail });
  }
}

/** The columns of OAuth after a change: null without it. */
function oauthOf(
  fields: Pick<UpdateToolServerBody, 'auth' | 'account' | 'clientId' | 'scope'>,
  before?: ToolServer,
): Pick<ToolServer, 'account' | 'clientId' | 'scope'> {
  const { auth = before?.auth, account = before?.account ?? 'personal' } = fields;
  if (auth !== 'oauth') return { account: null, clientId: null, scope: null };
  const { clientId = before?.clientId ?? null, scope = before?.scope ?? null } = fields;
  return { account, clientId: clientId || null, scope: scope || null };
}

/** The secret of the client after a change; undefined: it stays, as does what Plinth has found out about the authorization server. */
function readClient(
  fields: SecretFields,
  before: ToolServer | undefined,
  isSame: boolean,
): ServerSecret | undefined {
  const { clientSecret } = fields;
  const { account, clientId } = oauthOf(fields, before);
  const isKept = isSame && clientId === before?.clientId && !clientSecret;
  const isComplete = clientId !== null && (isKept || Boolean(clientSecret));
  if (account === 'client' && !isComplete) throw new ClientNeededError();
  if (isKept) return undefined;
  return clientSecret && clientId !== null ? { clientSecret } : {};
}

/** A consent that was given to a tool that only reads does not go on for one that does more. */
function consentAfter(tool: ServerTool): Consent {
  if (!tool.listed) throw new OtherToolTextError(tool.name);
  const suggested = defaultConsent(tool.listed);
  if (tool.accepted === null) return suggested;
  return tool.consent === 'always' ? suggested : tool.consent;
}

function readHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(headers);
  const texts = entries.filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' &&
      HEADER_NAME.test(entry[0]) &&
      !RESERVED_HEADER.test(entry[0]) &&
      entry[1].length <= MAX_HEADER_CHARS &&
      HEADER_VALUE.test(entry[1]),
  );
  if (texts.length < entries.length || texts.length === 0 || texts.length > MAX_HEADERS) {
    throw new InvalidHeadersError();
  }
  return Object.fromEntries(texts);
}

/** Only scheme, host and port: the rest of an address may hold what an audit log must not. */
function originOf(address: string): string {
  return URL.parse(address)?.origin ?? '';
}

function changeForAudit(
  before: ToolServer,
  fields: Partial<
    Omit<UpdateToolServerBody, 'id' | 'revision' | 'token' | 'headers' | 'clientSecret'>
  >,
  secret: ServerSecret | undefined,
): Record<string, unknown> {
  const names = [
    ...(['name', 'description', 'address', 'auth', 'timeoutSeconds', 'enabled'] as const),
    ...(['account', 'clientId', 'scope'] as const),
  ];
  const changed = names.filter(
    (name) => fields[name] !== undefined && fields[name] !== before[name],
  );
  return {
    fields: [...changed, ...(secret ? ['secret'] : [])],
    ...(changed.includes('enabled') && { enabled: fields.enabled }),
    ...(changed.includes('auth') && { auth: fields.auth }),
    ...(fields.address !== undefined &&
      changed.includes('address') && {
        oldOrigin: originOf(before.address),
        newOrigin: originOf(fields.address),
      }),
  };
}
