import type { ChatMessage, ContentPart } from '../../provider/index.js';

/**
 * The messages of a request as JSON of the convention (gen_ai.input.messages): role and parts. A relayed body has those of its
 * protocol. Images and other binary data are left out.
 */
export function recordedMessages(request: unknown): string | undefined {
  const { call, body, ...own } = (request ?? {}) as Record<string, unknown>;
  const { messages, inputs, query, input, contents } = (call ?? body ?? own) as Record<
    string,
    unknown
  >;
  const ours = body === undefined && Array.isArray(messages) ? messages.map(toMessage) : undefined;
  const recorded = ours ?? messages ?? inputs ?? query ?? input ?? contents;
  return recorded === undefined ? undefined : JSON.stringify(recorded, withoutData);
}

function toMessage(message: ChatMessage): object {
  const { role, content } = message;
  if (role === 'tool') {
    const { toolCallId: id } = message;
    return { role, parts: [{ type: 'tool_call_response', id, response: content }] };
  }
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const parts = typeof content === 'string' ? [{ type: 'text', content }] : content.map(toPart);
  return {
    role,
    parts: [
      ...parts,
      ...calls.map(({ id, name, arguments: text }) => ({
        type: 'tool_call',
        id,
        name,
        arguments: text,
      })),
    ],
  };
}

function toPart(part: ContentPart): object {
  if (part.type === 'text') return { type: 'text', content: part.text };
  return part.type === 'image'
    ? { type: 'blob', modality: 'image', mime_type: part.mimeType }
    : { type: 'uri', modality: 'image', uri: part.url };
}

/** Data URLs and base64 of services' own forms. */
function withoutData(key: string, value: unknown): unknown {
  const isData = typeof value === 'string' && (value.startsWith('data:') || key === 'data');
  return isData ? '[data]' : value;
}
