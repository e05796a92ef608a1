import { Injectable } from '@nestjs/common';
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Caller } from '../platform/access/index.js';
import { whileConnected } from '../platform/http/index.js';
import { distinctNames, ServerTools } from '../mcp/index.js';
import type { OfferedTool } from '../mcp/index.js';
import { ApiAnswers } from '../compatible-api/index.js';
import { ConsentNeededError } from './mcp.errors.js';
import { failed, textPart } from './served.tools.js';
import type { Arguments, Exchange, ServedTools } from './served.tools.js';

/** The tools of the tenant's tool servers that the caller may use, as agents are offered them. */
@Injectable()
export class GatewayTools implements ServedTools {
  readonly instructions =
    'Tools of the tool servers of a company. The name of a tool begins with that of its server.';

  constructor(
    private readonly servers: ServerTools,
    private readonly answers: ApiAnswers,
  ) {}

  /** Those that need no consent: there is no person who could be asked. */
  async list(caller: Caller): Promise<Tool[]> {
    const tools = await this.named(caller);
    return [...tools].flatMap(([name, { consent, text }]) => {
      if (consent !== 'always') return [];
      const { title, description, inputSchema, annotations } = text;
      return [
        {
          name,
          ...(title && { title }),
          description,
          inputSchema: inputSchema as Tool['inputSchema'],
          annotations,
        },
      ];
    });
  }

  async call(
    name: string,
    args: Arguments,
    { caller, response }: Exchange,
  ): Promise<CallToolResult | undefined> {
    const tool = (await this.named(caller)).get(name);
    if (!tool) return undefined;
    try {
      if (tool.consent !== 'always') throw new ConsentNeededError(name);
      const limit = AbortSignal.timeout(tool.timeoutMs);
      const signal = AbortSignal.any([whileConnected(response), limit]);
      const { text, images, isError } = await this.servers.call(caller, tool, { ...args }, signal);
      return {
        isError,
        content: [
          textPart(text),
          ...images.map(({ data, mediaType }) => ({
            type: 'image' as const,
            data,
            mimeType: mediaType,
          })),
        ],
      };
    } catch (error) {
      return failed(this.answers.failureOf(error));
    }
  }

  private async named(caller: Caller): Promise<ReadonlyMap<string, OfferedTool>> {
    const tools = await this.servers.all(caller);
    const names = distinctNames(tools);
    return new Map(tools.map((tool, place) => [names[place] ?? '', tool]));
  }
}
