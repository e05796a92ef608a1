import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import type { BaseMessage, ContentBlock } from '@langchain/core/messages';
import { msg } from '../platform/message/index.js';
import type { ChatMessage, ContentPart, ToolCall } from '../provider/index.js';
import { UnsupportedMessageError } from './langchain.errors.js';

/** The same conversation for the adapters. Throws UnsupportedMessageError for what they cannot send. */
export function toChatMessages(messages: readonly BaseMessage[]): ChatMessage[] {
  const toolNames = new Map<string, string>();
  return messages.map((message): ChatMessage => {
    if (SystemMessage.isInstance(message)) return { role: 'system', content: textOf(message) };
    if (HumanMessage.isInstance(message)) return { role: 'user', content: partsOf(message) };
    if (AIMessage.isInstance(message)) {
      const toolCalls = toolCallsOf(message);
      for (const { id, name } of toolCalls) toolNames.set(id, name);
      const content = textOf(message);
      return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    if (ToolMessage.isInstance(message)) {
      const { tool_call_id: toolCallId } = message;
      const name = message.name ?? toolNames.get(toolCallId);
      if (name !== undefined) return { role: 'tool', toolCallId, name, content: textOf(message) };
      throw new UnsupportedMessageError(
        msg`The tool message of the call ${toolCallId} has no name, and no message before it has the call. Send the message with the call, too.`,
      );
    }
    throw UnsupportedMessageError.message(message.type);
  });
}

/** The same conversation for LangChain. */
export function toLangChainMessages(messages: readonly ChatMessage[]): BaseMessage[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'system':
        return new SystemMessage(message.content);
      case 'user':
        return new HumanMessage({ content: toBlocks(message.content) });
      case 'assistant':
        return new AIMessage({
          content: message.content,
          tool_calls: (message.toolCalls ?? []).map(toLangChainCall),
        });
      case 'tool':
        return new ToolMessage({
          tool_call_id: message.toolCallId,
          name: message.name,
          content: message.content,
        });
    }
  });
}

/** A whole call as LangChain names it. */
export function toLangChainCall({ id, name, input }: ToolCall): {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
} {
  return { type: 'tool_call', id, name, args: { ...input } };
}

function toBlocks(content: string | readonly ContentPart[]): string | ContentBlock[] {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'image':
        return {
          type: 'image',
          mimeType: part.mimeType,
          data: part.data,
          ...metadataOf(part),
        };
      case 'image-url':
        return { type: 'image', url: part.url, ...metadataOf(part) };
    }
  });
}

function metadataOf({ detail }: { readonly detail?: string }): { metadata?: { detail: string } } {
  return detail === undefined ? {} : { metadata: { detail } };
}

/** The calls of an answer. One whose arguments could not be read was never made, so it is refused, not repaired. */
function toolCallsOf(message: AIMessage): ToolCall[] {
  const [invalid] = message.invalid_tool_calls ?? [];
  if (invalid) {
    throw new UnsupportedMessageError(
      msg`An answer calls the tool ${invalid.name ?? ''} with arguments that cannot be read. Leave the answer out.`,
    );
  }
  return (message.tool_calls ?? []).map(({ id, name, args }) => {
    if (id === undefined || id === '') {
      throw new UnsupportedMessageError(
        msg`A call of the tool ${name} has no id. Send the message as the model answered it.`,
      );
    }
    return { id, name, arguments: JSON.stringify(args), input: args };
  });
}

/** Blocks of answers that are not sent again: thinking, and calls, which tool_calls has as well. */
const OWN_BLOCKS: ReadonlySet<string> = new Set(['reasoning', 'thinking', 'tool_call']);

function textOf(message: BaseMessage): string {
  if (typeof message.content === 'string') return message.content;
  return message.content
    .map((block) => {
      if (isText(block)) return block.text;
      if (message.type === 'ai' && OWN_BLOCKS.has(block.type)) return '';
      throw UnsupportedMessageError.part(block.type, message.type);
    })
    .join('');
}

function partsOf(message: HumanMessage): string | ContentPart[] {
  if (typeof message.content === 'string') return message.content;
  return message.content.map((block) => {
    const part: ContentPart | undefined = isText(block)
      ? { type: 'text', text: block.text }
      : imageOf(block);
    if (part) return part;
    throw UnsupportedMessageError.part(block.type, message.type);
  });
}

function isText(block: ContentBlock): block is ContentBlock & { readonly text: string } {
  return block.type === 'text' && typeof block['text'] === 'string';
}

/** An image in one of LangChain's forms: the standard block, the one before it, or that of chat-completions. */
function imageOf(block: ContentBlock): ContentPart | undefined {
  if (block.type === 'image_url') {
    const image: unknown = block['image_url'];
    return typeof image === 'string' ? imageAt(image) : linkedImage(image);
  }
  if (block.type !== 'image') return undefined;
  const { url, data, mimeType = block['mime_type'], metadata } = block as Record<string, unknown>;
  if (typeof url === 'string') return imageAt(url, detailIn(metadata));
  if (typeof mimeType !== 'string') return undefined;
  const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
  if (typeof base64 !== 'string') return undefined;
  return { type: 'image', mimeType, data: base64, ...detailIn(metadata) };
}

function linkedImage(image: unknown): ContentPart | undefined {
  const url = fieldOf(image, 'url');
  return typeof url === 'string' ? imageAt(url, detailIn(image)) : undefined;
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** Every protocol takes an image in the request itself; a link is left to the services that fetch it. */
function imageAt(url: string, detail: ReturnType<typeof detailIn> = {}): ContentPart {
  const [, mimeType, data] = DATA_URL.exec(url) ?? [];
  if (mimeType === undefined || data === undefined) return { type: 'image-url', url, ...detail };
  return { type: 'image', mimeType, data, ...detail };
}

function detailIn(record: unknown): { readonly detail?: 'low' | 'high' } {
  const detail = fieldOf(record, 'detail');
  return detail === 'low' || detail === 'high' ? { detail } : {};
}

function fieldOf(record: unknown, field: string): unknown {
  return typeof record === 'object' && record !== null
    ? (record as Record<string, unknown>)[field]
    : undefined;
}
