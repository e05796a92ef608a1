import { Injectable } from '@nestjs/common';
import type {
  AuthProvider,
  CallToolResult,
  Client,
  FetchLike,
  PriorDiscovery,
  Tool,
} from '@modelcontextprotocol/client';
import { DomainError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { serviceVersion } from '../platform/observability/index.js';
import { limitedBody, OutboundError, OutboundHttp } from '../platform/outbound/index.js';

/** Bytes of one answer of a server, with all its events. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const CONNECT_MS = 10_000;
/** Pages of a list of tools. */
const MAX_PAGES = 20;
const MAX_REASON_CHARS = 300;
const CLIENT = { name: 'plinth', title: 'Plinth', version: serviceVersion() };
/** Statuses of answers that cannot have a body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Codes of JSON-RPC for a request that was not carried out: parse error, invalid request, unknown method, invalid parameters. */
const REFUSALS = new Set([-32_700, -32_600, -32_601, -32_602]);
const REQUEST_TIMEOUT = 408;

/** A call of a tool was sent, and no answer says what became of it. */
export class LostAnswerError extends Error {
  override readonly name = 'LostAnswerError';

  constructor(cause: unknown) {
    super('The answer of the tool was lost.', { cause });
  }
}

/** Whether the server may have got a call of a tool. */
interface Delivery {
  isPossible: boolean;
}

/** How a server is reached. */
export interface ServerConnection {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Gives the token of each request. */
  readonly authProvider?: AuthProvider | undefined;
  /** Time limit of everything that one connection does. */
  readonly timeoutMs: number;
  /** What an earlier connection found out: saves a request of each connection. */
  readonly prior?: PriorDiscovery | undefined;
}

/** What a server says to a client without a token (RFC 9728, 5.1). */
export interface Challenge {
  readonly resourceMetadataUrl?: URL;
  readonly scope?: string;
}

/** What a server says about itself. */
export interface ServerFacts {
  readonly protocolVersion: string;
  readonly name: string | null;
  readonly version: string | null;
  readonly discovery: PriorDiscovery;
}

/** One connection, which ends with the work that it was opened for. */
export class McpConnection {
  constructor(
    private readonly client: Client,
    private readonly timeoutMs: number,
    private readonly signal: AbortSignal,
    private readonly delivery: Delivery,
  ) {}

  get facts(): ServerFacts {
    const { client } = this;
    const discover = client.getDiscoverResult();
    const { name = null, version = null } = client.getServerVersion() ?? {};
    return {
      protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
      name,
      version,
      discovery: discover ? { kind: 'modern', discover } : { kind: 'legacy' },
    };
  }

  async tools(): Promise<Tool[]> {
    if (!this.client.getServerCapabilities()?.tools) return [];
    const { tools } = await this.client.listTools(undefined, {
      ...this.options,
      cacheMode: 'bypass',
    });
    return tools;
  }

  /** Rejects with LostAnswerError if the tool may have been executed, and otherwise as `McpClients.with` says. */
  async call(tool: Tool, args: Record<string, unknown>): Promise<CallToolResult> {
    try {
      return await this.client.callTool(
        { name: tool.name, arguments: args },
        {
          ...this.options,
          toolDefinition: tool,
          resetTimeoutOnProgress: true,
          onprogress: () => {},
        },
      );
    } catch (error) {
      const { ProtocolError } = await import('@modelcontextprotocol/client');
      const isRefused = error instanceof ProtocolError && REFUSALS.has(error.code);
      throw this.delivery.isPossible && !isRefused ? new LostAnswerError(error) : error;
    }
  }

  private get options() {
    const { timeoutMs: timeout, signal } = this;
    return { signal, timeout, maxTotalTimeout: timeout };
  }
}

/** Connections to MCP servers through the SDK, whose every request goes through OutboundHttp. */
@Injectable()
export class McpClients {
  constructor(private readonly http: OutboundHttp) {}

  /** Throws ForbiddenAddressError for an address that must not be called, or to which a secret must not be sent. */
  checkAddress(address: string, hasSecret: boolean): void {
    if (hasSecret) this.http.assertSecureAddress(address);
    else this.http.assertAddressAllowed(address);
  }

  /**
   * Connects with the newest revision that the server knows, does the work and ends the connection. Rejects with the error of the
   * work, of the SDK or of OutboundHttp; `reasonOf` has its text.
   */
  async with<T>(
    server: ServerConnection,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const sdk = await import('@modelcontextprotocol/client');
    const client = new sdk.Client(CLIENT, {
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      // A schema of a server could keep the process busy; what a tool answers is text for a model.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({
          valid: true,
          data: input as never,
          errorMessage: undefined,
        }),
      },
    });
    const end = new AbortController();
    const limited = AbortSignal.any([signal, end.signal]);
    const delivery: Delivery = { isPossible: false };
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.address), {
      fetch: this.fetchWith(server, limited, delivery),
      requestInit: { headers: { ...server.headers } },
      ...(server.authProvider && { authProvider: server.authProvider }),
      // A lost stream is continued where the server can; a call is never sent again.
      reconnectionOptions: {
        maxRetries: 2,
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 5_000,
        reconnectionDelayGrowFactor: 1.5,
      },
    });
    const { timeoutMs: timeout } = server;
    try {
      await client.connect(transport, {
        ...(server.prior && { prior: server.prior }),
        signal: limited,
        timeout,
      });
      const answer = await work(new McpConnection(client, timeout, limited, delivery));
      // Servers of older revisions keep a session until they are told.
      if (transport.sessionId !== undefined) await transport.terminateSession().catch(() => {});
      return answer;
    } finally {
      await client.close().catch(() => {});
      end.abort(new OutboundError('aborted'));
    }
  }

  /** Connects without a token, for the challenge of the server: empty if it has none. */
  async challengeOf(address: string, signal: AbortSignal): Promise<Challenge> {
    const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
    let challenge: Challenge | undefined;
    const authProvider: AuthProvider = {
      token: () => Promise.resolve(undefined),
      onUnauthorized: ({ response }) => {
        challenge = extractWWWAuthenticateParams(response);
        return Promise.reject(new Error('The server asks for a token.'));
      },
    };
    const server = { address, headers: {}, authProvider, timeoutMs: CONNECT_MS };
    await this.with(server, signal, () => Promise.resolve()).catch((error: unknown) => {
      if (challenge === undefined) throw error;
    });
    return challenge ?? {};
  }

  private fetchWith(
    { timeoutMs }: ServerConnection,
    signal: AbortSignal,
    delivery: Delivery,
  ): FetchLike {
    return async (address, init = {}) => {
      const isCall = isToolCall(init.body);
      const response = await this.http.request(String(address), {
        method: methodOf(init.method),
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(init.body !== undefined && init.body !== null && { body: bodyOf(init.body) }),
        signal: init.signal ? AbortSignal.any([signal, init.signal]) : signal,
        timeouts: { connectMs: CONNECT_MS, idleMs: timeoutMs, totalMs: timeoutMs },
        redirect: 'answer',
        ...(isCall && { onSend: () => (delivery.isPossible = true) }),
      });
      const { status, headers } = response;
      if (isCall && isRefusal(status)) delivery.isPossible = false;
      const hasBody = !WITHOUT_BODY.has(status);
      if (!hasBody) response.discard();
      const entries = Object.entries(headers).flatMap(([name, value = []]) =>
        [value].flat().map((one): [string, string] => [name, one]),
      );
      const body = hasBody
        ? ReadableStream.from(limitedBody(response.body, MAX_ANSWER_BYTES))
        : null;
      return new Response(body, { status, headers: entries });
    };
  }
}

function methodOf(method = 'GET'): 'GET' | 'POST' | 'DELETE' {
  return method === 'POST' || method === 'DELETE' ? method : 'GET';
}

function isToolCall(body: RequestInit['body']): boolean {
  if (typeof body !== 'string' || !body.includes('tools/call')) return false;
  return (JSON.parse(body) as { readonly method?: unknown }).method === 'tools/call';
}

/** Redirects and the faults of a client say that the request was not carried out (RFC 9110, 15.4 and 15.5); proxies send 408 also later. */
function isRefusal(status: number): boolean {
  return status >= 300 && status < 500 && status !== REQUEST_TIMEOUT;
}

/** The SDK sends texts and forms alone. */
function bodyOf(body: NonNullable<RequestInit['body']>): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new Error('The body of a request to a tool server is neither a text nor a form.');
}

/** Why a connection or a call failed, for people and models. */
export function reasonOf(error: unknown): Message {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    if (cause instanceof DomainError) return cause.userMessage;
    cause = cause.cause;
  }
  const { message: text } =
    error instanceof LostAnswerError ? asError(error.cause) : asError(error);
  const line = text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON_CHARS)
    .toWellFormed();
  return msg`it answered: ${line}`;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
