import type { ChatCall, ChatMessage, ContentPart, ToolCall } from '../chat.adapter.js';

/** What vendors of the chat-completions protocol differ in. */
export interface ChatCompletionsDialect {
  /** Name of the field that limits the output. */
  readonly maxOutputField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` is understood; without it some services report no usage. */
  readonly streamUsage: boolean;
}

/** The body of POST /chat/completions. */
export function toChatCompletionsBody(
  call: ChatCall,
  stream: boolean,
  dialect: ChatCompletionsDialect,
): Record<string, unknown> {
  return {
    model: call.model,
    messages: call.messages.map((message) => toWireMessage(message)),
    stream,
    ...(stream && dialect.streamUsage && { stream_options: { include_usage: true } }),
    ...(call.tools?.length && toolFields(call)),
    temperature: call.temperature,
    top_p: call.topP,
    [dialect.maxOutputField]: call.maxTokens,
    ...(call.stop?.length && { stop: call.stop }),
  };
}

function toolFields(call: ChatCall): Record<string, unknown> {
  return {
    tools: call.tools?.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    })),
    tool_choice: call.toolChoice,
  };
}

function toWireMessage(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return { role: 'user', content: toWireContent(message.content) };
    case 'assistant':
      return toWireAnswer(message.content, message.toolCalls ?? []);
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  }
}

/** The protocol wants null, not an empty text, where an answer holds only tool calls. */
function toWireAnswer(content: string, calls: readonly ToolCall[]): Record<string, unknown> {
  if (calls.length === 0) return { role: 'assistant', content };
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

function toWireContent(content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return part;
      case 'image':
        return imageAt(`data:${part.mimeType};base64,${part.data}`, part.detail);
      case 'image-url':
        return imageAt(part.url);
    }
  });
}

function imageAt(url: string, detail?: string): Record<string, unknown> {
  return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
}
