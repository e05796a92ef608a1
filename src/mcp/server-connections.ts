import { Injectable } from '@nestjs/common';
import type { PriorDiscovery } from '@modelcontextprotocol/client';
import type { Caller } from '../platform/access/index.js';
import { AccountNeededError } from './account/account.errors.js';
import { ServerAccounts } from './account/accounts.js';
import { LostAnswerError, reasonOf, McpClients } from './mcp-client.js';
import type { McpConnection } from './mcp-client.js';
import type { StoredDiscovery, ToolServer } from './tool-server.entity.js';
import { ToolServerError } from './tool-server.errors.js';
import { ToolServerRepository } from './tool-server.repository.js';
import { readTools } from './tool-text.js';

/** Connections to the tool servers of tenants, with their credentials. */
@Injectable()
export class ServerConnections {
  constructor(
    private readonly repository: ToolServerRepository,
    private readonly clients: McpClients,
    private readonly accounts: ServerAccounts,
  ) {}

  /**
   * Does the work in one connection, with the account of the caller where the server has OAuth. `prior` is what an earlier one found
   * out, which saves a request. Throws ToolServerError, AccountNeededError, or
   * the reason of the signal. Do not call it in a transaction.
   */
  async with<T>(
    server: ToolServer,
    caller: Caller,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<T>,
    prior?: StoredDiscovery | null,
  ): Promise<T> {
    const { token, headers } = this.repository.secretOf(server);
    const { address, name, timeoutSeconds } = server;
    try {
      const authProvider =
        server.auth === 'oauth'
          ? await this.accounts.authProvider(server, caller, signal)
          : undefined;
      const connection = {
        address,
        headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        authProvider,
        timeoutMs: timeoutSeconds * 1_000,
        prior: (prior ?? undefined) as PriorDiscovery | undefined,
      };
      return await this.clients.with(connection, signal, work);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AccountNeededError) throw error;
      const isUncertain = error instanceof LostAnswerError;
      throw new ToolServerError(name, reasonOf(error), { cause: error, isUncertain });
    }
  }

  /**
   * Stores the tools that the server lists now; the number of those that cannot be stored. `some`: the account of one user may show
   * fewer than others do, and the rest stays as it was.
   */
  async list(
    server: ToolServer,
    connection: McpConnection,
    extent: 'all' | 'some' = 'all',
  ): Promise<number> {
    const { listed, skipped } = readTools(await connection.tools());
    await this.repository.noteListing(server, connection.facts.discovery, listed, extent);
    return skipped;
  }
}
