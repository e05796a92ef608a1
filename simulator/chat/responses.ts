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
  requiredModel,
  textOfContent,
} from './chat-request.js';
import { EVENT_STREAM, KEEP_ALIVE_COMMENT, serverSentEvent } from './server-sent-event.js';

/** The Responses protocol (API reference of OpenAI, Responses and Streaming events, 2026-11). */
export const responses: ChatProtocol = {
  streamType: EVENT_STREAM,
  read,
  blockingAnswer,
  withoutContent: { output: [] },
  streamedAnswer,
  emptyEvent: serverSentEvent({ type: 'response.queued' }, 'response.queued'),
  malformedEvent: serverSentEvent(
    '{"type":"response.output_text.delta","delta":',
    'response.output_text.delta',
  ),
  keepAlive: KEEP_ALIVE_COMMENT,
  errorEvent: (error) => serverSentEvent({ ...objectOf(error['error']), type: 'error' }, 'error'),
};

function read({ body }: Exchange): ChatRequest {
  const { input } = body;
  const instructions = stringOf(body['instructions']);
  const items =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  const messages = objectsOf(items).flatMap(readItem);
  if (messages.length === 0) throw new InvalidRequest('input: at least one item is required');
  return {
    model: requiredModel(body),
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system' as const, text: instructions, images: [] }]),
      ...messages,
    ],
    tools: objectsOf(body['tools']).map((tool) => ({
      name: stringOf(tool['name']),
      parameters: objectOf(tool['parameters']),
    })),
    stream: body['stream'] === true,
    includeUsage: true,
  };
}

function readItem(item: JsonObject): ChatMessage[] {
  switch (item['type'] ?? 'message') {
    case 'message': {
      const images = objectsOf(item['content'])
        .filter((part) => part['type'] === 'input_image')
        .map((part) => imageOfAddress(stringOf(part['image_url'])));
      return [{ role: readRole(item['role']), text: textOfContent(item['content']), images }];
    }
    case 'function_call': {
      const call = {
        id: stringOf(item['call_id']),
        name: stringOf(item['name']),
        arguments: objectOf(parseJson(stringOf(item['arguments']))),
      };
      return [{ role: 'assistant', text: '', images: [], toolCalls: [call] }];
    }
    case 'function_call_output': {
      const toolCallId = stringOf(item['call_id']);
      return [{ role: 'tool', text: textOfContent(item['output']), images: [], toolCallId }];
    }
    default:
      return [];
  }
}

function readRole(role: unknown): ChatMessage['role'] {
  if (role === 'system' || role === 'developer') return 'system';
  return role === 'assistant' ? role : 'user';
}

function blockingAnswer(request: ChatRequest, answer: Answer): JsonObject {
  return {
    ...envelope(request),
    ...endOf(answer),
    output: answer.pieces.map((one) => itemOf(one)),
  };
}

function streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[] {
  const base = { ...envelope(request), output: [] };
  let sequence = 0;
  const event = (kind: WireEvent['kind'], type: string, fields: JsonObject): WireEvent => ({
    kind,
    text: serverSentEvent({ type, sequence_number: sequence++, ...fields }, type),
  });
  const items = answer.pieces.map((piece) => itemOf(piece));
  const events = answer.pieces.flatMap((piece, output_index): WireEvent[] => {
    const item = items[output_index] ?? {};
    const place = { item_id: item['id'] ?? '', output_index };
    const [type, more] = DELTAS[piece.kind];
    const part = partOf(piece);
    const whole = objectsOf(item['content'] ?? item['summary'])[0] ?? {};
    return [
      event('frame', 'response.output_item.added', { output_index, item: emptied(item) }),
      ...(part === undefined
        ? []
        : [event('frame', `${part}.added`, { ...place, ...more, part: withoutText(whole) })]),
      ...piece.chunks.map((delta) => event('chunk', `${type}.delta`, { ...place, ...more, delta })),
      ...(part === undefined
        ? []
        : [event('frame', `${part}.done`, { ...place, ...more, part: whole })]),
      event('frame', 'response.output_item.done', { output_index, item }),
    ];
  });
  const end = endOf(answer);
  return [
    event('frame', 'response.created', { response: base }),
    event('frame', 'response.in_progress', { response: base }),
    ...events,
    event('finish', `response.${stringOf(end['status'])}`, {
      response: { ...base, ...end, output: items },
    }),
  ];
}

const DELTAS: Record<Piece['kind'], [type: string, more: JsonObject]> = {
  text: ['response.output_text', { content_index: 0, logprobs: [] }],
  refusal: ['response.refusal', { content_index: 0 }],
  reasoning: ['response.reasoning_summary_text', { summary_index: 0 }],
  tool: ['response.function_call_arguments', {}],
};

/** The part of an item that has the text; a call has none. */
function partOf({ kind }: Piece): string | undefined {
  if (kind === 'tool') return undefined;
  return kind === 'reasoning' ? 'response.reasoning_summary_part' : 'response.content_part';
}

function withoutText(part: JsonObject): JsonObject {
  return part['type'] === 'refusal' ? { ...part, refusal: '' } : { ...part, text: '' };
}

function itemOf(piece: Piece): JsonObject {
  const text = piece.chunks.join('');
  const status = 'completed';
  switch (piece.kind) {
    case 'tool':
      return {
        id: newId('fc'),
        type: 'function_call',
        status,
        call_id: piece.id,
        name: piece.name,
        arguments: text,
      };
    case 'reasoning':
      return {
        id: newId('rs'),
        type: 'reasoning',
        status,
        summary: [{ type: 'summary_text', text }],
        encrypted_content: Buffer.from(text).toString('base64'),
      };
    case 'refusal':
      return messageItem({ type: 'refusal', refusal: text });
    case 'text':
      return messageItem({ type: 'output_text', text, annotations: [], logprobs: [] });
  }
}

function messageItem(part: JsonObject): JsonObject {
  const status = 'completed';
  return { id: newId('msg'), type: 'message', status, role: 'assistant', content: [part] };
}

/** An item as it is when it begins. */
function emptied(item: JsonObject): JsonObject {
  const { arguments: itemArguments, content, summary, encrypted_content: _, ...rest } = item;
  return {
    ...rest,
    status: 'in_progress',
    ...(itemArguments !== undefined && { arguments: '' }),
    ...(content !== undefined && { content: [] }),
    ...(summary !== undefined && { summary: [] }),
  };
}

function endOf({ finish, usage }: Answer): JsonObject {
  const reason = { length: 'max_output_tokens', content_filter: 'content_filter' }[finish];
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    ...(usage && {
      usage: {
        input_tokens: usage.promptTokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: usage.completionTokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.promptTokens + usage.completionTokens,
      },
    }),
  };
}

function envelope(request: ChatRequest): JsonObject {
  const created_at = Math.floor(Date.now() / 1000);
  return {
    id: newId('resp'),
    object: 'response',
    created_at,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: request.model,
    usage: null,
  };
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
