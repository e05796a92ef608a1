import { UpstreamError } from '../../upstream.error.js';
import type { ChatCall, ChatMessage, ContentPart } from '../chat.adapter.js';

/** The body of POST /api/chat. Throws UpstreamError (invalid-request) for images given as addresses. */
export function toOllamaBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  return {
    model: call.model,
    messages: call.messages.map((message) => toWireMessage(message)),
    stream,
    think: call.thinking,
    // The protocol has no tool choice: "none" is said by sending no tools.
    ...(call.tools?.length && call.toolChoice !== 'none' && { tools: toTools(call) }),
    options: {
      temperature: call.temperature,
      top_p: call.topP,
      num_predict: call.maxTokens,
      ...(call.stop?.length && { stop: call.stop }),
    },
  };
}

function toTools(call: ChatCall): unknown {
  return call.tools?.map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }));
}

function toWireMessage(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return typeof message.content === 'string' ? message : toUserMessage(message.content);
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.toolCalls?.length && {
          tool_calls: message.toolCalls.map(({ name, input }) => ({
            function: { name, arguments: input },
          })),
        }),
      };
    case 'tool':
      return { role: 'tool', tool_name: message.name, content: message.content };
  }
}

function toUserMessage(parts: readonly ContentPart[]): Record<string, unknown> {
  if (parts.some(({ type }) => type === 'image-url')) {
    throw new UpstreamError({
      kind: 'invalid-request',
      message: 'This provider cannot fetch images from an address. Upload the image instead.',
    });
  }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const images = parts.flatMap((part) => (part.type === 'image' ? [part.data] : []));
  return { role: 'user', content: texts.join('\n'), ...(images.length > 0 && { images }) };
}
