import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { WebPages, WebSearch } from '../../web/index.js';
import { MAX_CONTENT_CHARS, ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome } from './agent-tool.js';
import { shownName } from './bases.js';
import { HOW_TO_USE } from './quoted-fragments.js';
import { quoteWeb, webFragment } from './web-quotes.js';

/** Characters reserved for remarks besides the text. */
const REMARKS = 2_000;
const MAX_OFFSET = 100_000_000;

const input = z.strictObject({
  url: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .describe('The complete address, such as https://example.com/page.'),
  from: z
    .int()
    .min(0)
    .max(MAX_OFFSET)
    .optional()
    .describe('Character to begin at, as the answer to an earlier call says. Default: 0.'),
});
type Input = z.infer<typeof input>;

/** Reads a page of the web. */
@Injectable()
export class FetchPageTool implements AgentTool<Input> {
  readonly name = 'fetch_page';
  readonly input = input;
  readonly description = `Reads a page, a PDF or another document at an address of the web as text. Use it for addresses that web_search has found or that the user has given. Pages that need a sign-in or a browser cannot be read. ${HOW_TO_USE}`;

  constructor(
    private readonly search: WebSearch,
    private readonly pages: WebPages,
  ) {}

  async run({ url, from = 0 }: Input, context: ToolContext): Promise<ToolOutcome> {
    await this.search.requireEnabled(context.caller.tenantId);
    const requested = URL.parse(url);
    if (!requested || !/^https?:$/.test(requested.protocol)) {
      throw new ToolFailure('url must be a complete address that begins with https:// or http://.');
    }
    requested.hash = '';
    const { address, title, text } = await this.pages.read(requested.href, context.signal);
    const rest = text.slice(from).toWellFormed();
    if (rest === '') {
      throw new ToolFailure(`The page has ${text.length} characters. Give a smaller from.`);
    }
    const readTime = new Date();
    const fragment = webFragment({ url: address, title, content: rest, part: `${from}`, readTime });
    const quoted = quoteWeb([fragment], context, MAX_CONTENT_CHARS - REMARKS);
    const [source] = quoted.sources;
    const end = from + (source?.content.length ?? 0);
    const more =
      end < text.length
        ? `[The page goes on: this is up to character ${end} of ${text.length}. Call fetch_page again with from ${end}.]`
        : '';
    return {
      content: [HOW_TO_USE, ...quoted.texts, more].filter(Boolean).join('\n\n'),
      summary: `read ${shownName(title)} (${new URL(address).hostname})`,
    };
  }
}
