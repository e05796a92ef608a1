import { randomUUID } from 'node:crypto';
import type { Answer, Piece } from '../answer/answer.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf } from '../http/json.js';
import type { ChatProtocol, WireEvent } from './chat-protocol.js';
import {
  type ChatMessage,
  type ChatRequest,
  imageOfAddress,
  InvalidRequest,
  type RequestedCall,
  partsOfContent,
  requiredMessages,
  requiredModel,
  type SeenImage,
  textOfContent,
} from './chat-request.js';
import { EVENT_STREAM, KEEP_ALIVE_COMMENT, serverSentEvent } from './server-sent-event.js';

/** The messages protocol. */
export const messages: ChatProtocol = {
  streamType: EVENT_STREAM,
  read,
  blockingAnswer,
  withoutContent: { content: [] },
  streamedAnswer,
  emptyEvent: serverSentEvent({ type: 'ping' }, 'ping'),
  malformedEvent: serverSentEvent('{"type":"content_block_delta","index":', 'content_block_delta'),
  keepAlive: KEEP_ALIVE_COMMENT,
  errorEvent: (error) => serverSentEvent(error, 'error'),
};

const STOP_REASONS: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

function read(exchange: Exchange): ChatRequest {
  const { body } = exchange;
  if (exchange.header('anthropic-version') === '') {
    throw new InvalidRequest('anthropic-version: header is required');
  }
  refuseUnknown(body, exchange.header('anthropic-beta'));
  const model = requiredModel(body);
  if (typeof body['max_tokens'] !== 'number' || body['max_tokens'] < 1) {
    throw new InvalidRequest('max_tokens: Field required');
  }
  const system = textOfContent(body['system']);
  return {
    model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, text: system, images: [] }]),
      ...requiredMessages(body).flatMap(readMessage),
    ],
    tools: objectsOf(body['tools']).map((tool) => ({
      name: stringOf(tool['name']),
      parameters: objectOf(tool['input_schema']),
    })),
    stream: body['stream'] === true,
    includeUsage: true,
  };
}

/** The parameters of the Messages API (reference of Anthropic, November 2026). */
const PARAMETERS = new Set([
  ...['model', 'max_tokens', 'messages', 'system', 'stream', 'tools', 'tool_choice', 'thinking'],
  ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'output_config', 'metadata'],
  ...['cache_control', 'container', 'diagnostics', 'inference_geo', 'service_tier', 'speed'],
]);

/** Parameters of Anthropic's betas, each of which a header has to name. */
const BETA_PARAMETERS = new Set([
  ...['billing_policy', 'compaction', 'context_management', 'fallback_credit_token', 'fallbacks'],
  ...['mcp_servers', 'output_format', 'thread', 'user_profile_id'],
]);

function refuseUnknown(body: JsonObject, betas: string): void {
  const unknown = Object.keys(body).find(
    (name) => !PARAMETERS.has(name) && !(betas !== '' && BETA_PARAMETERS.has(name)),
  );
  if (unknown !== undefined) {
    throw new InvalidRequest(`${unknown}: Extra inputs are not permitted`);
  }
}

function readMessage(message: JsonObject): ChatMessage[] {
  const { role } = message;
  if (role === 'system') return [{ role, text: textOfContent(message['content']), images: [] }];
  if (role !== 'user' && role !== 'assistant') {
    throw new InvalidRequest('messages: role must be "user", "assistant" or "system"');
  }
  const parts = objectsOf(message['content']);
  const images = parts.filter((part) => part['type'] === 'image').map(readImage);
  const texts = partsOfContent(message['content']);
  const text = texts.join('\n');
  const toolCalls = parts.filter((part) => part['type'] === 'tool_use').map(readCall);
  // Tool results come back inside a user message, before what the user says.
  const results = parts.filter((part) => part['type'] === 'tool_result').map(readResult);
  if (results.length > 0 && text === '' && images.length === 0) return results;
  return [...results, { role, text, parts: texts, images, toolCalls }];
}

function readCall(part: JsonObject): RequestedCall {
  const input = objectOf(part['input']);
  return { id: stringOf(part['id']), name: stringOf(part['name']), arguments: input };
}

function readResult(part: JsonObject): ChatMessage {
  const toolCallId = stringOf(part['tool_use_id']);
  return { role: 'tool', text: textOfContent(part['content']), images: [], toolCallId };
}

function readImage(part: JsonObject): SeenImage {
  const source = objectOf(part['source']);
  if (source['type'] === 'url') return imageOfAddress(stringOf(source['url']));
  return imageOfAddress(
    `data:${stringOf(source['media_type'])};base64,${stringOf(source['data'])}`,
  );
}

function blockingAnswer(request: ChatRequest, answer: Answer): JsonObject {
  return {
    ...envelope(request),
    content: answer.pieces.filter((piece) => piece.kind !== 'refusal').map(contentBlock),
    stop_reason: stopReason(answer),
    stop_sequence: null,
    ...(answer.usage && {
      usage: {
        input_tokens: answer.usage.promptTokens,
        output_tokens: answer.usage.completionTokens,
      },
    }),
  };
}

function contentBlock(piece: Piece): JsonObject {
  const text = piece.chunks.join('');
  if (piece.kind === 'tool') {
    const input = parseJson(text) ?? {};
    return { type: 'tool_use', id: piece.id, name: piece.name, input };
  }
  if (piece.kind === 'reasoning') return { type: 'thinking', thinking: text, signature: 'sim' };
  return { type: 'text', text };
}

function streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[] {
  const { usage } = answer;
  const message = {
    ...envelope(request),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage && { usage: { input_tokens: usage.promptTokens, output_tokens: 1 } }),
  };
  const pieces = answer.pieces.filter((piece) => piece.kind !== 'refusal');
  return [
    event('frame', { type: 'message_start', message }),
    ...pieces.flatMap((piece, index) => [
      event('frame', {
        type: 'content_block_start',
        index,
        content_block: emptyBlock(piece),
      }),
      ...(index === 0 ? [event('frame', { type: 'ping' })] : []),
      ...piece.chunks.map((chunk) =>
        event('chunk', { type: 'content_block_delta', index, delta: delta(piece, chunk) }),
      ),
      event('frame', { type: 'content_block_stop', index }),
    ]),
    event('finish', {
      type: 'message_delta',
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      ...(usage && { usage: { output_tokens: usage.completionTokens } }),
    }),
    event('end-mark', { type: 'message_stop' }),
  ];
}

function event(kind: WireEvent['kind'], data: JsonObject): WireEvent {
  return { kind, text: serverSentEvent(data, stringOf(data['type'])) };
}

function emptyBlock(piece: Piece): JsonObject {
  if (piece.kind === 'tool') return { type: 'tool_use', id: piece.id, name: piece.name, input: {} };
  if (piece.kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'text', text: '' };
}

function delta(piece: Piece, chunk: string): JsonObject {
  if (piece.kind === 'tool') return { type: 'input_json_delta', partial_json: chunk };
  if (piece.kind === 'reasoning') return { type: 'thinking_delta', thinking: chunk };
  return { type: 'text_delta', text: chunk };
}

function stopReason(answer: Answer): string {
  return STOP_REASONS[answer.finish] ?? answer.finish;
}

function envelope(request: ChatRequest): JsonObject {
  const id = `msg_${randomUUID().replaceAll('-', '')}`;
  return { id, type: 'message', role: 'assistant', model: request.model };
}
