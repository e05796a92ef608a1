import type { ChatCall, ChatMessage, ContentPart, ToolCall } from '../chat.adapter.js';

/** The protocol requires a limit. */
const DEFAULT_MAX_TOKENS = 4096;

interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Record<string, unknown>[];
}

/** The body of POST /messages. */
export function toMessagesBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  const system = call.messages.flatMap((message) =>
    message.role === 'system' ? [message.content] : [],
  );
  return {
    model: call.model,
    max_tokens: call.maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length > 0 && { system: system.join('\n\n') }),
    messages: toWireMessages(call.messages),
    stream,
    ...(call.tools?.length && toolFields(call)),
    temperature: call.temperature,
    top_p: call.topP,
    ...(call.stop?.length && { stop_sequences: call.stop }),
  };
}

const TOOL_CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const;

function toolFields(call: ChatCall): Record<string, unknown> {
  return {
    tools: call.tools?.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    })),
    ...(call.toolChoice && { tool_choice: { type: TOOL_CHOICES[call.toolChoice] } }),
  };
}

/**
 * Roles alternate in this protocol and tool results are the user's, so neighbours of one role become
 * one message. A message without content is refused there and is left out.
 */
function toWireMessages(messages: readonly ChatMessage[]): readonly WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = toBlocks(message);
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) wire.push({ role, content });
  }
  return wire;
}

function toBlocks(message: Exclude<ChatMessage, { role: 'system' }>): Record<string, unknown>[] {
  switch (message.role) {
    case 'user':
      return toUserBlocks(message.content);
    case 'assistant':
      return [...textBlocks(message.content), ...(message.toolCalls ?? []).map(toToolUse)];
    case 'tool':
      return [{ type: 'tool_result', tool_use_id: message.toolCallId, content: message.content }];
  }
}

function toUserBlocks(content: string | readonly ContentPart[]): Record<string, unknown>[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part) => {
    switch (part.type) {
      case 'text':
        return textBlocks(part.text);
      case 'image':
        return [image({ type: 'base64', media_type: part.mimeType, data: part.data })];
      case 'image-url':
        return [image({ type: 'url', url: part.url })];
    }
  });
}

function textBlocks(text: string): Record<string, unknown>[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function image(source: Record<string, unknown>): Record<string, unknown> {
  return { type: 'image', source };
}

function toToolUse({ id, name, input }: ToolCall): Record<string, unknown> {
  return { type: 'tool_use', id, name, input };
}
