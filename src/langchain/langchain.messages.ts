import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import type { BaseMessage, ContentBlock } from '@langchain/core/messages';
import { msg } from '../platform/message/index.js';
import { readToolCall } from '../provider/index.js';
import type { ChatMessage, ContentPart, ProviderState, ToolCall } from '../provider/index.js';
import { UnsupportedMessageError } from './langchain.errors.js';

/**
 * The field of `response_metadata` that holds what the service of the model wants back with an answer. It is there in answers in one
 * piece, in chunks and in events alike; LangChain passes it on as it is.
 */
const PROVIDER_STATE = 'provider_state';

/** The same conversation for the adapters. Throws UnsupportedMessageError for what they cannot send. */
export function toChatMessages(messages: readonly BaseMessage[]): ChatMessage[] {
  const toolNames = new Map<string, string>();
  return messages.map((message): ChatMessage => {
    if (SystemMessage.isInstance(message)) return { role: 'system', content: textOf(message) };
    if (HumanMessage.isInstance(message)) return { role: 'user', content: partsOf(message) };
    if (AIMessage.isInstance(message)) {
      const toolCalls = toolCallsOf(message);
      for (const { id, name } of toolCalls) toolNames.set(id, name);
      const providerState = providerStateOf(message);
      return {
        role: 'assistant',
        content: textOf(message),
        ...(toolCalls.length > 0 && { toolCalls }),
        ...(providerState && { providerState }),
      };
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
          ...withInvalidCalls(message.toolCalls ?? []),
          response_metadata: stateMetadata(message.providerState),
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

export function stateMetadata(state: ProviderState | undefined): Record<string, ProviderState> {
  return state ? { [PROVIDER_STATE]: state } : {};
}

function providerStateOf({ response_metadata: metadata }: AIMessage): ProviderState | undefined {
  const state: unknown = metadata[PROVIDER_STATE];
  const origin = fieldOf(state, 'origin');
  const data = fieldOf(state, 'data');
  if (typeof origin !== 'string' || typeof data !== 'object' || data === null) return undefined;
  return { origin, data: data as ProviderState['data'] };
}

/**
 * Calls of an answer, of which those that are invalid stand in both lists of LangChain: among the calls they keep their place, and
 * LangChain waits for their results. Only for messages whose calls are not executed by LangChain.
 */
export function withInvalidCalls(calls: readonly ToolCall[]): {
  readonly tool_calls: LangChainCall[];
  readonly invalid_tool_calls: LangChainInvalidCall[];
} {
  const invalid = calls.filter((call) => call.invalid);
  return {
    tool_calls: calls.map(toLangChainCall),
    invalid_tool_calls: invalid.map(toLangChainInvalidCall),
  };
}

type LangChainCall = {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
};

type LangChainInvalidCall = {
  readonly type: 'invalid_tool_call';
  readonly id: string;
  readonly name: string;
  /** Arguments as the model wrote them. */
  readonly args: string;
  readonly error: string;
};

/** A call whose arguments are not a JSON object, as LangChain names it. */
export function toLangChainInvalidCall(call: ToolCall): LangChainInvalidCall {
  const { id, name, arguments: args } = call;
  const error = 'The arguments are not a JSON object.';
  return { type: 'invalid_tool_call', id, name, args, error };
}

/** A whole call as LangChain names it. */
export function toLangChainCall({ id, name, input }: ToolCall): LangChainCall {
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

/** The calls of an answer; one whose arguments are not a JSON object is sent as the model wrote it. */
function toolCallsOf(message: AIMessage): ToolCall[] {
  const calls = (message.tool_calls ?? []).map(({ id, name, args }): ToolCall => ({
    id: idOf(id, name),
    name,
    arguments: JSON.stringify(args),
    input: args,
  }));
  const invalid = new Map(
    invalidCallsOf(message).map(({ id, name = '', args = '' }) => {
      const call = { id: idOf(id, name), name, arguments: args };
      return [call.id, readToolCall(call)];
    }),
  );
  const added = [...invalid.values()].filter(({ id }) => !calls.some((call) => call.id === id));
  return [...calls.map((call) => invalid.get(call.id) ?? call), ...added];
}

type InvalidCall = Partial<Record<'id' | 'name' | 'args', string>>;

/** Messages that were put together from events have them as blocks alone. */
function invalidCallsOf({ invalid_tool_calls: listed = [], content }: AIMessage): InvalidCall[] {
  const blocks = typeof content === 'string' ? [] : content;
  const others = blocks.filter(
    ({ type, id }) => type === 'invalid_tool_call' && !listed.some((call) => call.id === id),
  );
  return [...listed, ...(others as InvalidCall[])];
}

function idOf(id: string | undefined, name: string): string {
  if (id !== undefined && id !== '') return id;
  throw new UnsupportedMessageError(
    msg`A call of the tool ${name} has no id. Send the message as the model answered it.`,
  );
}

/** Blocks of answers that are not sent again: thinking, and calls, which tool_calls has as well. */
const OWN_BLOCKS: ReadonlySet<string> = new Set([
  'reasoning',
  'thinking',
  'tool_call',
  'invalid_tool_call',
]);

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
