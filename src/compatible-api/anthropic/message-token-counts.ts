import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { TurnPlanner } from '../../chat/index.js';
import { estimateMessageTokens, ModelResolver, tokenCounter } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ContentPart, RelayedBody, TokenCount } from '../../provider/index.js';
import { agentIdIn, modelName, MAX_MESSAGES, parameters } from '../answer/parameters.js';
import { UpstreamTokenCounts } from '../answer/token-counts.js';
import type { CountOptions } from '../answer/token-counts.js';
import { relayedBody } from './messages.protocol.js';

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);
const countRequest = z.looseObject({
  model: modelName,
  messages: z
    .array(z.looseObject({ role: z.string(), content }))
    .min(1)
    .max(MAX_MESSAGES),
  system: content.optional(),
  tools: z.array(z.looseObject({})).optional(),
});

type CountRequest = z.output<typeof countRequest>;

/** POST /v1/messages/count_tokens. */
@Injectable()
export class MessageTokenCounts {
  constructor(
    private readonly models: ModelResolver,
    private readonly planner: TurnPlanner,
    private readonly relayed: UpstreamTokenCounts,
  ) {}

  /**
   * The count of the service where it has one. Otherwise that of the vocabulary of the model or an estimate, for an agent with
   * its prompt, but without the fragments and tools that it may add.
   */
  async count(caller: Caller, body: unknown, options: CountOptions): Promise<TokenCount> {
    const request = parameters(countRequest, body);
    const agentId = agentIdIn(request.model);
    if (agentId !== undefined) {
      const { model, systemPrompt = '' } = await this.planner.plan(caller, { agentId });
      return estimated(request, model, systemPrompt);
    }
    const model = await this.models.resolveChat(caller, request.model);
    const relayed = { protocol: 'messages', body: relayedBody(body as RelayedBody) } as const;
    const input_tokens = await this.relayed.count(caller, model, relayed, options);
    return input_tokens === undefined ? estimated(request, model, '') : { input_tokens };
  }
}

async function estimated(
  { system = '', messages, tools = [] }: CountRequest,
  { modelName: name }: ResolvedChatModel,
  prompt: string,
): Promise<TokenCount> {
  const counter = await tokenCounter(name);
  const count = (text: string): number => counter.count(text);
  const contents = [prompt, system, ...messages.map((message) => message.content)];
  const tokens = contents
    .map(partsOf)
    .filter((parts) => parts.length > 0)
    .map((parts) => estimateMessageTokens({ role: 'user', content: parts }, count));
  const schemas = tools.map((tool) => count(JSON.stringify({ ...tool, cache_control: undefined })));
  return { input_tokens: [...tokens, ...schemas].reduce((sum, one) => sum + one, 0) };
}

type Content = z.output<typeof content>;

/** The parts of a message that count: files count as images, and thinking is not sent again. */
function partsOf(messageContent: Content): ContentPart[] {
  if (typeof messageContent === 'string')
    return messageContent === '' ? [] : [{ type: 'text', text: messageContent }];
  return messageContent.flatMap((block): ContentPart[] => {
    switch (block.type) {
      case 'thinking':
      case 'redacted_thinking':
        return [];
      case 'image':
      case 'document':
        return [{ type: 'image-url', url: '' }];
      case 'tool_result':
        return partsOf(content.safeParse(block['content']).data ?? '');
      case 'text':
        return typeof block['text'] === 'string' ? partsOf(block['text']) : [];
      default:
        return partsOf(JSON.stringify({ ...block, cache_control: undefined }));
    }
  });
}
