import { Injectable } from '@nestjs/common';
import type { PriorDiscovery } from '@modelcontextprotocol/client';
import { reasonOf, McpClients } from './mcp-client.js';
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
  ) {}

  /**
   * Does the work in one connection. `prior` is what an earlier one found out, which saves a request. Throws ToolServerError, or the
   * reason of the signal. Do not call it in a transaction.
   */
  async with<T>(
    server: ToolServer,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<T>,
    prior?: StoredDiscovery | null,
  ): Promise<T> {
    const { token, headers } = this.repository.secretOf(server);
    const { address, name, timeoutSeconds } = server;
    const connection = {
      address,
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      timeoutMs: timeoutSeconds * 1_000,
      prior: (prior ?? undefined) as PriorDiscovery | undefined,
    };
    try {
      return await this.clients.with(connection, signal, work);
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolServerError(name, reasonOf(error), error);
    }
  }

  /** Stores the tools that the server lists now; the number of those that cannot be stored. */
  async list(server: ToolServer, connection: McpConnection): Promise<number> {
    const { listed, skipped } = readTools(await connection.tools());
    await this.repository.noteListing(server, connection.facts.discovery, listed);
    return skipped;
  }
}
