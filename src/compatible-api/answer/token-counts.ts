import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import {
  CHAT_LIMITS,
  estimateMessageTokens,
  tokenCounter,
  UpstreamCalls,
} from '../../model/index.js';
import type { CallTrail, ResolvedChatModel } from '../../model/index.js';
import type {
  ChatMessage,
  ChatProtocolName,
  ContentPart,
  RelayedBody,
  RelayOptions,
} from '../../provider/index.js';
import type { TranslatedCall, TranslatedMessage } from './api.request.js';

export interface CountOptions extends Pick<RelayOptions, 'headers' | 'signal'> {
  readonly trail: CallTrail;
}

/** Token counts of requests by their services. */
@Injectable()
export class UpstreamTokenCounts {
  constructor(private readonly calls: UpstreamCalls) {}

  /** Undefined if the service speaks another protocol or cannot count. Fails like UpstreamCalls. */
  async count(
    caller: Caller,
    model: ResolvedChatModel,
    { protocol, body }: { readonly protocol: ChatProtocolName; readonly body: RelayedBody },
    { trail, ...options }: CountOptions,
  ): Promise<number | undefined> {
    const { adapter, connection } = model;
    if (!adapter.canRelay(connection.address, protocol)) return undefined;
    const { attempts, ...limits } = CHAT_LIMITS;
    const use = { caller, feature: 'chat', trail } as const;
    const counted = await this.calls.countTokens(model, body, {
      ...options,
      use,
      limits,
      attempts,
    });
    return counted?.input_tokens;
  }
}

/** Tokens of a call, counted by the model's tokenizer or estimated. Files count as images. */
export async function estimateCallTokens(
  { messages, tools = [] }: Pick<TranslatedCall, 'messages' | 'tools'>,
  modelName: string,
): Promise<number> {
  const counter = await tokenCounter(modelName);
  const count = (text: string): number => counter.count(text);
  const counts = [
    ...messages.map((message) => estimateMessageTokens(withoutFiles(message), count)),
    ...tools.map((one) => count(JSON.stringify(one))),
  ];
  return counts.reduce((sum, one) => sum + one, 0);
}

function withoutFiles(message: TranslatedMessage): ChatMessage {
  if (message.role !== 'user' || typeof message.content === 'string') return message as ChatMessage;
  const content = message.content.map((part): ContentPart =>
    part.type === 'file' ? { type: 'image-url', url: '' } : part,
  );
  return { role: 'user', content };
}
