import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import {
  containing,
  Database,
  isUniqueViolation,
  SealedColumns,
  TenantScoped,
} from '../platform/database/index.js';
import type { SealedColumn } from '../platform/database/index.js';
import { MAX_CHOICES } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { Consent } from '../effect/index.js';
import { comparedSubjects, grantedInList, grantedTo } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import type { ToolServerListQuery } from './tool-server.dto.js';
import { ServerTool, ToolServer } from './tool-server.entity.js';
import type { ServerSecret, StoredDiscovery } from './tool-server.entity.js';
import { DuplicateServerNameError, OtherToolTextError } from './tool-server.errors.js';
import type { ListedTool } from './tool-text.js';

/** Written columns; undefined ones keep their value or get their default. */
export type ServerValues = Partial<
  Pick<
    ToolServer,
    | 'userId'
    | 'name'
    | 'description'
    | 'address'
    | 'auth'
    | 'account'
    | 'clientId'
    | 'scope'
    | 'timeoutSeconds'
    | 'enabled'
    | 'discovery'
  >
>;

/** A tool with the name of its server. */
export interface NamedTool extends Pick<ServerTool, 'acceptedHash' | 'listedHash'> {
  readonly id: number;
  readonly toolName: string;
  readonly serverName: string;
  readonly consent: Consent;
}

@Injectable()
export class ToolServerRepository {
  readonly servers: TenantScoped<ToolServer>;
  readonly tools: TenantScoped<ServerTool>;
  private readonly secrets: SealedColumn;

  constructor(
    private readonly database: Database,
    sealed: SealedColumns,
  ) {
    this.secrets = sealed.add('tool_server', 'secret');
    this.servers = new TenantScoped(database, ToolServer, msg`The tool server`);
    this.tools = new TenantScoped(database, ServerTool, msg`The tool`);
  }

  async page(caller: Caller, query: ToolServerListQuery): Promise<Page<ToolServer>> {
    const { name } = query;
    return this.servers.pageAtOnce(
      caller.tenantId,
      query,
      { ...grantedTo(caller, 'tool-server', 'read'), ...(name && { name: containing(name) }) },
      { name: 'ASC', id: 'ASC' },
    );
  }

  /** The server, if the caller has the level on it. */
  async reached(caller: Caller, id: number, level: GrantLevel): Promise<ToolServer | null> {
    return this.servers.findOne(caller.tenantId, grantedTo(caller, 'tool-server', level, [id]));
  }

  /** The servers whose account the caller can connect, by name: their own, and with `shared` those that they may change. */
  async connectable(caller: Caller, shared: boolean): Promise<ToolServer[]> {
    const where = { auth: 'oauth', enabled: true } as const;
    return this.servers.choices(
      caller.tenantId,
      [
        { ...where, account: 'personal', ...grantedTo(caller, 'tool-server', 'use') },
        ...(shared
          ? [
              {
                ...where,
                account: 'shared' as const,
                ...grantedTo(caller, 'tool-server', 'write'),
              },
            ]
          : []),
      ],
      { name: 'ASC' },
    );
  }

  /** Those of the servers that the caller may use and that are enabled. */
  async usable(caller: Caller, ids: readonly number[]): Promise<ToolServer[]> {
    return this.servers.find(caller.tenantId, {
      ...grantedTo(caller, 'tool-server', 'use', ids),
      enabled: true,
    });
  }

  async insert(tenantId: string, values: ServerValues, secret: ServerSecret): Promise<number> {
    return uniquelyNamed(values.name, async () => {
      const { id } = await this.servers.insert(tenantId, values);
      await this.setSecret(tenantId, id, secret);
      return id;
    });
  }

  async update(
    tenantId: string,
    id: number,
    values: ServerValues,
    secret: ServerSecret | undefined,
  ): Promise<void> {
    await uniquelyNamed(values.name, () => this.servers.update(tenantId, id, values));
    if (secret) await this.setSecret(tenantId, id, secret);
  }

  /** The credentials; empty for a text that no key of the settings decrypts. */
  secretOf({ tenantId, id, secret }: ToolServer): ServerSecret {
    const text = secret === null ? undefined : this.secrets.open(tenantId, id, secret);
    return text === undefined ? {} : (JSON.parse(text) as ServerSecret);
  }

  /** Adds to the credentials as they were read. False, without a change, if they are others now. */
  async addToSecret(server: ToolServer, added: Partial<ServerSecret>): Promise<boolean> {
    const { tenantId, id, secret } = server;
    const text = JSON.stringify({ ...this.secretOf(server), ...added });
    const rows = await this.database.query(
      `UPDATE tool_server SET secret = $4
        WHERE tenant_id = $1 AND id = $2 AND secret IS NOT DISTINCT FROM $3 RETURNING id`,
      [tenantId, id, secret, this.secrets.seal(tenantId, id, text)],
    );
    return rows.length > 0;
  }

  private async setSecret(tenantId: string, id: number, secret: ServerSecret): Promise<void> {
    const isEmpty = Object.keys(secret).length === 0;
    const sealed = isEmpty ? null : this.secrets.seal(tenantId, id, JSON.stringify(secret));
    await this.database.query(
      'UPDATE tool_server SET secret = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, id, sealed],
    );
  }

  /** Stores what the server lists now, and with `all` that it lists nothing else. Its accepted texts stay. */
  async noteListing(
    { tenantId, id }: ToolServer,
    discovery: StoredDiscovery,
    tools: readonly ListedTool[],
    extent: 'all' | 'some',
  ): Promise<void> {
    await this.database.transaction(async () => {
      // Locks the server, so that two listings come one after the other.
      await this.database.query(
        'UPDATE tool_server SET discovery = $3, listed_at = now() WHERE tenant_id = $1 AND id = $2',
        [tenantId, id, discovery],
      );
      await this.database.query(
        `INSERT INTO server_tool (tenant_id, server_id, name, listed, listed_hash)
           SELECT $1, $2, name, text, hash
             FROM jsonb_to_recordset($3::jsonb) AS one (name varchar, text jsonb, hash char(64))
         ON CONFLICT (server_id, name) DO UPDATE
            SET listed = excluded.listed, listed_hash = excluded.listed_hash, update_time = now()
          WHERE server_tool.listed_hash IS DISTINCT FROM excluded.listed_hash`,
        [tenantId, id, JSON.stringify(tools)],
      );
      if (extent === 'some') return;
      const names = tools.map(({ name }) => name);
      await this.database.query(
        `DELETE FROM server_tool
          WHERE tenant_id = $1 AND server_id = $2 AND name <> ALL ($3::text[]) AND accepted IS NULL`,
        [tenantId, id, names],
      );
      await this.database.query(
        `UPDATE server_tool SET listed = NULL, listed_hash = NULL, update_time = now()
          WHERE tenant_id = $1 AND server_id = $2 AND name <> ALL ($3::text[]) AND listed IS NOT NULL`,
        [tenantId, id, names],
      );
    });
  }

  /** Makes the listed text the accepted one, if it is still that with the hash. OtherToolTextError otherwise. */
  async accept(
    tenantId: string,
    { id, name }: ServerTool,
    hash: string,
    consent: Consent,
  ): Promise<void> {
    const accepted = await this.database.query(
      `UPDATE server_tool SET accepted = listed, accepted_hash = listed_hash, consent = $4, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND listed_hash = $3 RETURNING id`,
      [tenantId, id, hash, consent],
    );
    if (accepted.length === 0) throw new OtherToolTextError(name);
  }

  /** The tools of the server, by name. */
  async toolsOf(tenantId: string, serverId: number): Promise<ServerTool[]> {
    return this.tools.find(tenantId, { serverId }, { name: 'ASC' });
  }

  async toolsWithIds(tenantId: string, ids: readonly number[]): Promise<ServerTool[]> {
    return this.tools.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  /** The accepted tools of the servers that the caller may use, by server and name. */
  async selectable(caller: Caller): Promise<NamedTool[]> {
    return this.database.query<NamedTool>(
      `SELECT tool.id, tool.name AS "toolName", server.name AS "serverName", tool.consent,
              tool.accepted_hash AS "acceptedHash", tool.listed_hash AS "listedHash"
         FROM server_tool AS tool JOIN tool_server AS server ON server.tenant_id = $1 AND server.id = tool.server_id
        WHERE tool.tenant_id = $1 AND tool.accepted IS NOT NULL AND tool.consent <> 'never' AND server.enabled
          AND ${grantedInList('tool-server', 'use', { id: 'server.id', tenant: '$1', subjects: '$2' })}
        ORDER BY server.name, tool.name LIMIT $3`,
      [caller.tenantId, comparedSubjects(caller), MAX_CHOICES],
    );
  }
}

async function uniquelyNamed<T>(name: string | undefined, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw name !== undefined && isUniqueViolation(error)
      ? new DuplicateServerNameError(name)
      : error;
  }
}
