import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import {
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { McpRequestContext } from '@modelcontextprotocol/server';
import { serviceVersion } from '../platform/observability/index.js';
import type { Exchange, ServedTools } from './served.tools.js';

/** Speaks the protocol: each message is answered by a server of its own, for its caller. */
@Injectable()
export class McpServing implements BeforeApplicationShutdown {
  private readonly logger = new Logger('McpServer');
  private readonly version = serviceVersion();
  private readonly exchanges = new WeakMap<Request, { exchange: Exchange; tools: ServedTools }>();

  private readonly handler = createMcpHandler((context) => this.serverOf(context), {
    onerror: (error) => this.logger.debug({ msg: 'MCP message refused', err: error }),
    // The list of tools changes with the rights of the caller alone, so that there is nothing to listen for.
    maxSubscriptions: 0,
  });

  answer(
    request: Request,
    body: unknown,
    exchange: Exchange,
    tools: ServedTools,
  ): Promise<Response> {
    this.exchanges.set(request, { exchange, tools });
    return this.handler.fetch(request, { parsedBody: body });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.handler.close();
  }

  private serverOf({ requestInfo }: McpRequestContext): McpServer {
    const entry = requestInfo && this.exchanges.get(requestInfo);
    if (!entry) throw new Error('A message of MCP has no caller.');
    const { exchange, tools } = entry;
    const mcpServer = new McpServer(
      { name: 'plinth', title: 'Plinth', version: this.version },
      { capabilities: { tools: {} }, instructions: tools.instructions },
    );
    const { server } = mcpServer;
    server.setRequestHandler('tools/list', async () => ({
      tools: await tools.list(exchange.caller),
    }));
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      let progress = 0;
      const args = params.arguments ?? {};
      const result = await tools.call(params.name, args, exchange, async (message) => {
        if (progressToken === undefined) return;
        progress += message.length;
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, message },
        });
      });
      if (result) return result;
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${params.name}. See tools/list.`,
      );
    });
    return mcpServer;
  }
}
