import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { McpServer as OlderServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import type { AuthorizationServer } from './authorization-server.js';

type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

export interface TestTool {
  readonly description: string;
  /** Description of the argument `text`. */
  readonly argument?: string;
  readonly annotations?: {
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
  };
  readonly run: (
    args: { readonly text: string },
    signal: AbortSignal,
  ) =>
    | { readonly content: Content[]; readonly isError?: boolean }
    | Promise<{ readonly content: Content[]; readonly isError?: boolean }>;
}

export function answering(text: string, more: Partial<TestTool> = {}): TestTool {
  return {
    description: `Answers ${text}`,
    annotations: { readOnlyHint: true },
    run: () => ({ content: [{ type: 'text', text }] }),
    ...more,
  };
}

/**
 * MCP servers of the tests' own, by the official packages: `modern` speaks the revision 2026-07-28 alone
 * (@modelcontextprotocol/server 2.4), `older` those up to 2025-11-25 with sessions (@modelcontextprotocol/sdk 1.x).
 */
export class TestToolServer {
  readonly tools = new Map<string, TestTool>();
  /** The names of the called tools with their texts. */
  readonly calls: { readonly tool: string; readonly text: string }[] = [];
  readonly requests: IncomingMessage['headers'][] = [];
  /** The bearer token that each request must have. */
  token: string | undefined;
  /** Its tokens are required, and its metadata is that of a protected resource (RFC 9728). */
  authorization: AuthorizationServer | undefined;
  /** Fields of the metadata instead of its own. */
  resourceMetadata: Readonly<Record<string, unknown>> = {};
  /** The scope that the challenge names. */
  scope: string | undefined;
  /** For whom tools were called. */
  readonly persons: string[] = [];
  /** Answers calls of tools in place of a modern server. */
  answerCall: ((response: ServerResponse, id: unknown) => void) | undefined;
  private readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  private readonly handler = createMcpHandler(() => this.modern(), { legacy: 'reject' });
  private readonly http: Server;

  private constructor(private readonly revision: 'modern' | 'older') {
    this.http = createServer((request, response) => {
      this.answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(revision: 'modern' | 'older' = 'modern'): Promise<TestToolServer> {
    const server = new TestToolServer(revision);
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/mcp`;
  }

  get openSessions(): number {
    return this.sessions.size;
  }

  async close(): Promise<void> {
    await this.handler.close();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(request.headers);
    if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
      response.writeHead(401).end();
      return;
    }
    if (this.authorization && !this.authorize(this.authorization, request, response)) return;
    if (this.revision === 'older') return this.answerOlder(request, response);
    const { method = 'GET' } = request;
    const body = method === 'POST' ? await textOf(request) : undefined;
    if (this.answerCall && request.headers['mcp-method'] === 'tools/call') {
      const { id } = JSON.parse(body ?? '') as { readonly id: unknown };
      this.answerCall(response, id);
      return;
    }
    const end = new AbortController();
    response.once('close', () => end.abort());
    const answered = await this.handler.fetch(
      new Request(this.address, {
        method,
        headers: Object.entries(request.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]),
        ...(body !== undefined && { body }),
        signal: end.signal,
      }),
    );
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (answered.body) Readable.fromWeb(answered.body).pipe(response);
    else response.end();
  }

  /** False, with an answer, for requests without a token for this resource. */
  private authorize(
    server: AuthorizationServer,
    { url, headers }: IncomingMessage,
    response: ServerResponse,
  ): boolean {
    const path = '/.well-known/oauth-protected-resource/mcp';
    if (url === path) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          resource: this.address,
          authorization_servers: [server.url],
          ...this.resourceMetadata,
        }),
      );
      return false;
    }
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    const person = server.personOf(token, this.address);
    if (person !== undefined) {
      if (headers['mcp-method'] === 'tools/call') this.persons.push(person);
      return true;
    }
    const scope = this.scope === undefined ? '' : `, scope="${this.scope}"`;
    const metadata = new URL(path, this.address).href;
    const challenge = `Bearer resource_metadata="${metadata}"${scope}`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
    return false;
  }

  private async answerOlder(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const existing = this.sessions.get(String(id));
    if (existing) return existing.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void this.sessions.set(session, transport),
      onsessionclosed: (session) => void this.sessions.delete(session),
    });
    await this.older().connect(transport);
    return transport.handleRequest(request, response);
  }

  private modern(): McpServer {
    const server = new McpServer({ name: 'test-server', version: '2.0.0' });
    for (const [name, { description, argument, annotations = {}, run }] of this.tools) {
      const text = argument === undefined ? z.string() : z.string().describe(argument);
      server.registerTool(
        name,
        { description, annotations, inputSchema: z.object({ text }) },
        async (args, context) => {
          this.calls.push({ tool: name, text: args.text });
          return run(args, context.mcpReq.signal);
        },
      );
    }
    return server;
  }

  private older(): OlderServer {
    const server = new OlderServer({ name: 'older-server', version: '1.0.0' });
    for (const [name, { description, annotations = {}, run }] of this.tools) {
      server.registerTool(
        name,
        { description, annotations, inputSchema: { text: z.string() } },
        async (args, { signal }) => {
          this.calls.push({ tool: name, text: args.text });
          return run(args, signal);
        },
      );
    }
    return server;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
