import { estimateMessageTokens, tokenCounter } from '../../model/index.js';
import type { ChatMessage, ContentPart } from '../../provider/index.js';
import type { TranslatedCall, TranslatedMessage } from './api.request.js';

/** What a call would take of the window of the model, by its vocabulary or as an estimate. Files count as images. */
export async function tokensOfCall(
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
