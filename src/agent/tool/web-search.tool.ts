import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { WebSearch } from '../../web/index.js';
import type { AgentTool, ToolContext, ToolOutcome } from './agent-tool.js';
import { HOW_TO_USE, MAX_QUOTED_CHARS } from './quoted-fragments.js';
import { quoteWeb, webFragment } from './web-quotes.js';

const DEFAULT_RESULTS = 6;
const MAX_RESULTS = 15;

const input = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(400)
    .describe('What to look for, as key terms. Name a year or a place where it matters.'),
  limit: z
    .int()
    .min(1)
    .max(MAX_RESULTS)
    .optional()
    .describe(`Results at most, 1 to ${MAX_RESULTS}. Default: ${DEFAULT_RESULTS}.`),
});
type Input = z.infer<typeof input>;

const NO_FACTS: Readonly<Record<string, string>> = {};

/** Searches the web with the providers of the tenant. */
@Injectable()
export class WebSearchTool implements AgentTool<Input> {
  readonly name = 'web_search';
  readonly input = input;
  readonly description = `Searches the web and returns pages with title, address, a short extract and, where it is known, their date. Use it for what is recent, or not in the documents; use fetch_page to read a page that was found. ${HOW_TO_USE}`;

  constructor(private readonly web: WebSearch) {}

  async run({ query, limit }: Input, context: ToolContext): Promise<ToolOutcome> {
    const { caller, agentId, signal } = context;
    const feature = agentId === undefined ? 'chat' : 'agent';
    const count = limit ?? DEFAULT_RESULTS;
    const results = await this.web.search({ caller, agentId, feature, query, count, signal });
    if (results.length === 0) {
      return {
        content: 'The web search found nothing. Search with other words, or say so.',
        summary: `searched the web for "${query}": no results`,
      };
    }
    const readTime = new Date();
    const dates = new Map(results.map(({ url, date }) => [url, date]));
    const fragments = results.map(({ url, title, snippet: content }) =>
      webFragment({ url, title, content, part: 'result', readTime }),
    );
    const { texts } = quoteWeb(fragments, context, MAX_QUOTED_CHARS, ({ url }) => {
      const date = dates.get(url);
      return date ? { published: date } : NO_FACTS;
    });
    const pages = texts.length === 1 ? '1 page' : `${texts.length} pages`;
    return {
      content: [HOW_TO_USE, ...texts].join('\n\n'),
      summary: `searched the web for "${query}": ${pages}`,
    };
  }
}
