import { Injectable } from '@nestjs/common';
import type { CallToolResult, ContentBlock, Tool } from '@modelcontextprotocol/client';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { ATTRIBUTE, traced } from '../platform/tracing/index.js';
import { canonicalJson, hashOf } from '../effect/index.js';
import type { Consent } from '../effect/index.js';
import { ServerConnections } from './server-connections.js';
import type { ServerTool, ToolServer, ToolText } from './tool-server.entity.js';
import {
  ToolForbiddenError,
  ToolNotAcceptedError,
  ToolServerDisabledError,
  ToolServerError,
} from './tool-server.errors.js';
import { ToolServerRepository } from './tool-server.repository.js';
import type { NamedTool } from './tool-server.repository.js';
import { stateOf } from './tool-text.js';

/** How long a list of tools counts as the current one: after it a call lists them again first. */
const LIST_VALID_MS = 5 * 60_000;
/** Bytes of the images of one result, decoded. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const MAX_IMAGES = 4;
const METHOD = 'tools/call';
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** A tool of a server that an agent can call. */
export interface OfferedTool {
  readonly id: number;
  readonly serverId: number;
  readonly serverName: string;
  readonly serverAddress: string;
  /** As the server names it. */
  readonly name: string;
  readonly consent: Consent;
  /** The hash of the accepted text. */
  readonly hash: string;
  readonly text: ToolText;
  readonly timeoutMs: number;
}

export interface ToolImage {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** The result of a call, as data from outside. */
export interface ToolCallOutcome {
  readonly text: string;
  readonly images: readonly ToolImage[];
  /** The tool says that it failed. */
  readonly isError: boolean;
}

/** The tools of servers, as agents are offered and call them. */
@Injectable()
export class ServerTools {
  constructor(
    private readonly repository: ToolServerRepository,
    private readonly connections: ServerConnections,
    private readonly audit: AuditLog,
  ) {}

  /** The tools that agents can be given, of the servers that the caller may use. */
  selectable(caller: Caller): Promise<NamedTool[]> {
    return this.repository.selectable(caller);
  }

  /** All tools that the caller may use now, in the order of their ids. */
  async all(caller: Caller): Promise<OfferedTool[]> {
    const tools = await this.selectable(caller);
    return this.offered(
      caller,
      tools.map(({ id }) => id),
    );
  }

  /** Those of the tools that the caller may use now, in the order of their ids. */
  async offered(caller: Caller, ids: readonly number[]): Promise<OfferedTool[]> {
    if (ids.length === 0) return [];
    const tools = await this.repository.toolsWithIds(caller.tenantId, ids);
    const serverIds = [...new Set(tools.map(({ serverId }) => serverId))];
    const servers = await this.repository.usable(caller, serverIds);
    return tools.flatMap((tool) => {
      const server = servers.find(({ id }) => id === tool.serverId);
      const { accepted, acceptedHash, consent } = tool;
      const isCallable = stateOf(tool) === 'accepted' && consent !== 'never';
      if (!server || !isCallable || accepted === null || acceptedHash === null) return [];
      const { id, name } = tool;
      const timeoutMs = server.timeoutSeconds * 1_000;
      const facts = { id, name, consent, text: accepted, hash: acceptedHash, timeoutMs };
      return [
        { ...facts, serverId: server.id, serverName: server.name, serverAddress: server.address },
      ];
    });
  }

  /**
   * Calls a tool, if the caller may still use its server and its text is the accepted one. Each call is in the audit log. Throws
   * DomainError; nothing was executed after a ToolServerError that is not uncertain.
   */
  async call(
    caller: Caller,
    { id, hash }: Pick<OfferedTool, 'id' | 'hash'>,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<ToolCallOutcome> {
    const { tool, server } = await this.callable(caller, id, hash);
    const started = performance.now();
    let outcome: 'done' | 'failed' | 'refused' | 'unknown' = 'unknown';
    const attributes = () => ({
      [ATTRIBUTE.mcpMethod]: METHOD,
      [ATTRIBUTE.toolName]: tool.name,
      [ATTRIBUTE.serverAddress]: URL.parse(server.address)?.hostname,
    });
    try {
      const result = await traced(
        `${METHOD} ${tool.name}`,
        { kind: 'client', attributes },
        async (span) => {
          const answered = await this.callOn(caller, { server, tool }, args, signal);
          if (answered.isError) span?.end('tool_error');
          return answered;
        },
      );
      outcome = result.isError ? 'failed' : 'done';
      return result;
    } catch (error) {
      if (error instanceof ToolNotAcceptedError) outcome = 'refused';
      else if (error instanceof ToolServerError && !error.isUncertain) outcome = 'failed';
      throw error;
    } finally {
      await this.audit.record(caller, {
        action: 'call',
        target: 'tool_server',
        id: server.id,
        detail: {
          tool: tool.name,
          argumentsHash: hashOf(canonicalJson(args)),
          outcome,
          durationMs: Math.round(performance.now() - started),
        },
      });
    }
  }

  private async callable(
    caller: Caller,
    id: number,
    hash: string,
  ): Promise<{ tool: ServerTool; server: ToolServer }> {
    const [tool] = await this.repository.toolsWithIds(caller.tenantId, [id]);
    if (!tool) throw new NotFoundError(msg`The tool`);
    const server = await this.repository.reached(caller, tool.serverId, 'use');
    if (!server) throw new NotFoundError(msg`The tool server`);
    if (!server.enabled) throw new ToolServerDisabledError(server.name);
    if (tool.consent === 'never') throw new ToolForbiddenError(tool.name);
    requireAccepted(tool, server, hash);
    return { tool, server };
  }

  private async callOn(
    caller: Caller,
    { server, tool }: { readonly server: ToolServer; readonly tool: ServerTool },
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<ToolCallOutcome> {
    const { accepted, acceptedHash } = tool;
    if (accepted === null || acceptedHash === null) {
      throw new ToolNotAcceptedError(tool.name, server.name);
    }
    const isCurrent =
      server.listedAt !== null && Date.now() - server.listedAt.getTime() < LIST_VALID_MS;
    const result = await this.connections.with(
      server,
      caller,
      signal,
      async (connection) => {
        if (!isCurrent) {
          const extent = server.account === 'personal' ? 'some' : 'all';
          await this.connections.list(server, connection, extent);
          const listed = await this.repository.tools.get(server.tenantId, tool.id);
          requireAccepted(listed, server, acceptedHash);
        }
        return connection.call(definitionOf(tool.name, accepted), args);
      },
      isCurrent ? server.discovery : null,
    );
    return outcomeOf(result);
  }
}

/** Throws ToolNotAcceptedError unless the server lists the text that was accepted and offered. */
function requireAccepted(tool: ServerTool, server: ToolServer, hash: string): void {
  if (stateOf(tool) === 'accepted' && tool.acceptedHash === hash) return;
  throw new ToolNotAcceptedError(tool.name, server.name);
}

/** The accepted definition in the form of the SDK, which reads which arguments are sent as headers, too. */
function definitionOf(name: string, { inputSchema, description }: ToolText): Tool {
  return { name, description, inputSchema: inputSchema as Tool['inputSchema'] };
}

function outcomeOf({ content, structuredContent, isError }: CallToolResult): ToolCallOutcome {
  const images: ToolImage[] = [];
  let imageBytes = 0;
  const texts = content.map((block) => {
    if (block.type !== 'image') return textOf(block);
    const bytes = Math.floor((block.data.length * 3) / 4);
    const { mimeType: mediaType, data } = block;
    imageBytes += bytes;
    const isTaken =
      IMAGE_TYPES.has(mediaType) && images.length < MAX_IMAGES && imageBytes <= MAX_IMAGE_BYTES;
    if (!isTaken) return `[An image (${mediaType}, ${bytes} bytes) that is not shown.]`;
    images.push({ mediaType, data });
    return `[Image ${images.length}: ${mediaType}, ${bytes} bytes]`;
  });
  const text = texts.join('\n');
  const isBare = text.trim() === '' && structuredContent !== undefined;
  return {
    text: isBare ? JSON.stringify(structuredContent) : text,
    images,
    isError: isError === true,
  };
}

function textOf(block: Exclude<ContentBlock, { type: 'image' }>): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource':
      return 'text' in block.resource
        ? block.resource.text
        : `[A file (${block.resource.mimeType ?? 'unknown type'}) that is not shown.]`;
    case 'resource_link':
      return `[A resource of the server: ${block.uri} (${block.name})]`;
    case 'audio':
      return `[A sound (${block.mimeType}) that is not played.]`;
    default:
      return '[Content of an unknown kind.]';
  }
}
