import { type JsonObject, type JsonValue, objectOf, objectsOf, stringOf } from '../http/json.js';

export interface SeenImage {
  mime: string;
  /** Size in bytes; undefined when the image is only linked. */
  bytes: number | undefined;
  /** Size of a PNG, in pixels. */
  size?: { width: number; height: number };
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  /** The same piece by piece, where the protocol has to make one message of several. */
  parts?: string[];
  images: SeenImage[];
  /** Calls that an assistant message requests. */
  toolCalls?: RequestedCall[];
  /** Call that a tool message answers; some protocols rely on the order alone. */
  toolCallId?: string;
}

/** A tool call of an earlier answer, as the client sent it back. */
export interface RequestedCall {
  id: string;
  name: string;
  arguments: JsonObject;
}

/** A tool that the model may call. */
export interface OfferedTool {
  name: string;
  /** JSON Schema of its arguments. */
  parameters: JsonObject;
}

/** Request of any of the chat protocols. */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  tools: OfferedTool[];
  stream: boolean;
  /** Whether a stream ends with the usage; some protocols always send it. */
  includeUsage: boolean;
}

/** The request does not follow the protocol. */
export class InvalidRequest extends Error {}

export function requiredModel(body: JsonObject): string {
  const model = stringOf(body['model']);
  if (model === '') throw new InvalidRequest('model: field required');
  return model;
}

/** Whether the model thinks before it answers. */
export function canThink(model: string): boolean {
  return model.includes('reasoner');
}

export function requiredMessages(body: JsonObject): JsonObject[] {
  const messages = objectsOf(body['messages']);
  if (messages.length === 0) throw new InvalidRequest('messages: at least one message is required');
  return messages;
}

/** Tools in the form that most protocols share: `{type: 'function', function: {name, parameters}}`. */
export function functionsIn(tools: JsonValue | undefined): OfferedTool[] {
  return objectsOf(tools).map((tool) => {
    const offered = objectOf(tool['function']);
    return { name: stringOf(offered['name']), parameters: objectOf(offered['parameters']) };
  });
}

/** The text of a content member, which is a string or a list of parts. */
export function textOfContent(content: JsonValue | undefined): string {
  return partsOfContent(content).join('\n');
}

export function partsOfContent(content: JsonValue | undefined): string[] {
  if (typeof content === 'string') return [content];
  const texts = objectsOf(content).map((part) => stringOf(part['text']));
  return texts.filter((text) => text !== '');
}

/** Reads `data:image/png;base64,…`; an ordinary address has no known size. */
export function imageOfAddress(address: string): SeenImage {
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(address);
  if (data === null) return { mime: 'linked image', bytes: undefined };
  return imageOfBytes(data[1] ?? '', Buffer.from(data[2] ?? '', 'base64'));
}

export function imageOfBytes(mime: string, bytes: Buffer): SeenImage {
  const isPng = bytes.toString('latin1', 1, 4) === 'PNG' && bytes.length >= PNG_HEAD;
  if (!isPng) return { mime, bytes: bytes.length };
  const size = { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  return { mime, bytes: bytes.length, size };
}

/** Signature and the beginning of the first chunk, which has the size. */
const PNG_HEAD = 24;
