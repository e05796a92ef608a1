import { once } from 'node:events';
import { Body, Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request as HttpRequest, Response as HttpResponse } from 'express';
import { CurrentCaller, LoginOnly, Public } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { setEnvelopeCode } from '../platform/error/index.js';
import { NoEnvelope, whileConnected } from '../platform/http/index.js';
import { McpMessageBody, ResourceMetadataView } from './mcp.dto.js';
import {
  baseOf,
  BatchError,
  GATEWAY_METADATA,
  OriginError,
  RESOURCE_METADATA,
} from './mcp.errors.js';
import { GatewayTools } from './gateway.tools.js';
import { GATEWAY_PERMISSION, McpResources } from './mcp.resources.js';
import type { McpResource } from './mcp.resources.js';
import { McpServing } from './mcp.serving.js';
import { McpTools } from './mcp.tools.js';
import type { Exchange, ServedTools } from './served.tools.js';

/** The Model Context Protocol for its clients. */
@ApiTags('mcp')
@Controller()
@NoEnvelope()
export class McpController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly serving: McpServing,
    private readonly tools: McpTools,
    private readonly gateway: GatewayTools,
    private readonly resources: McpResources,
  ) {}

  /**
   * One message of the Model Context Protocol over Streamable HTTP, revision 2026-07-28, 2025-11-25 or 2025-06-18, without sessions.
   * The answer is JSON or server-sent events. tools/list names the tools whose permission the caller has.
   */
  @Post('mcp')
  @LoginOnly({ apiKey: 'any' })
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: true } })
  message(
    @CurrentCaller() caller: Caller,
    @Body() body: McpMessageBody,
    @Req() request: HttpRequest,
    @Res() response: HttpResponse,
  ): Promise<void> {
    return this.answer(this.tools, body, { caller, request, response });
  }

  /**
   * The same for the tools of tool servers that the caller may use, in one list. Their names begin with that of the server. Calls need
   * consent `always`, and each is in the audit log.
   */
  @Post('mcp/gateway')
  @LoginOnly({ apiKey: GATEWAY_PERMISSION })
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: true } })
  gatewayMessage(
    @CurrentCaller() caller: Caller,
    @Body() body: McpMessageBody,
    @Req() request: HttpRequest,
    @Res() response: HttpResponse,
  ): Promise<void> {
    return this.answer(this.gateway, body, { caller, request, response });
  }

  private async answer(
    tools: ServedTools,
    body: McpMessageBody,
    exchange: Exchange,
  ): Promise<void> {
    const { request, response } = exchange;
    this.requireOrigin(request);
    if (Array.isArray(body)) throw new BatchError();
    const signal = whileConnected(response);
    const answer = await this.serving.answer(
      new Request(baseOf(this.config) + request.path, {
        method: 'POST',
        headers: headersOf(request),
        signal,
      }),
      body,
      exchange,
      tools,
    );
    setEnvelopeCode(response, answer.status);
    response.status(answer.status).setHeaders(answer.headers);
    if (!answer.body) {
      response.end();
      return;
    }
    try {
      for await (const chunk of answer.body) {
        if (!response.write(chunk)) await once(response, 'drain', { signal });
      }
      response.end();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** What clients need to know to get access to POST /mcp (RFC 9728). */
  @Get(RESOURCE_METADATA)
  @Public()
  @ApiOkResponse({ type: ResourceMetadataView })
  metadata(): ResourceMetadataView {
    return this.metadataOf(this.resources.all[0]);
  }

  /** The same for POST /mcp/gateway. */
  @Get(GATEWAY_METADATA)
  @Public()
  @ApiOkResponse({ type: ResourceMetadataView })
  gatewayMetadata(): ResourceMetadataView {
    return this.metadataOf(this.resources.all[1]);
  }

  /** The same for clients that do not read the address in the refusal. */
  @Get('.well-known/oauth-protected-resource')
  @Public()
  @ApiOkResponse({ type: ResourceMetadataView })
  rootMetadata(): ResourceMetadataView {
    return this.metadata();
  }

  private metadataOf({ address, name, permissions }: McpResource): ResourceMetadataView {
    return ResourceMetadataView.of({
      resource: address,
      resource_name: name,
      authorization_servers: [baseOf(this.config)],
      scopes_supported: permissions,
      bearer_methods_supported: ['header'],
    });
  }

  /** Browsers send an Origin; a page of a name that leads to this address (DNS rebinding) must not be served. */
  private requireOrigin({ headers: { origin } }: HttpRequest): void {
    if (origin === undefined) return;
    const { CORS_ORIGINS, PUBLIC_URL } = this.config;
    if (CORS_ORIGINS.includes(origin)) return;
    const url = URL.parse(origin);
    const isOwn = PUBLIC_URL !== undefined && url?.origin === new URL(PUBLIC_URL).origin;
    if (!isOwn && !LOOPBACK.test(url?.hostname ?? '')) throw new OriginError();
  }
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** The headers that the protocol reads. The credentials are not among them. */
const PROTOCOL_HEADERS = /^(accept|content-type|mcp-.*)$/;

function headersOf({ headers }: HttpRequest): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    PROTOCOL_HEADERS.test(name) && typeof value === 'string' ? [[name, value] as const] : [],
  );
  return new Headers(entries as [string, string][]);
}
