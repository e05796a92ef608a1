import { randomUUID } from 'node:crypto';
import type { Answer, Piece, Usage } from '../answer/answer.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf } from '../http/json.js';
import type { ChatProtocol, WireEvent } from './chat-protocol.js';
import {
  type ChatMessage,
  type ChatRequest,
  functionsIn,
  imageOfAddress,
  type RequestedCall,
  requiredMessages,
  requiredModel,
  textOfContent,
} from './chat-request.js';
import { EVENT_STREAM, KEEP_ALIVE_COMMENT, serverSentEvent } from './server-sent-event.js';

/** The chat-completions protocol. */
export const chatCompletions: ChatProtocol = {
  streamType: EVENT_STREAM,
  read,
  blockingAnswer,
  withoutContent: { choices: [] },
  streamedAnswer,
  emptyEvent: serverSentEvent({ id: '', object: 'chat.completion.chunk', choices: [] }),
  malformedEvent: serverSentEvent('{"id":"chatcmpl-malformed","choices":[{"delta":'),
  keepAlive: KEEP_ALIVE_COMMENT,
  errorEvent: (error) => serverSentEvent(error),
};

function read({ body }: Exchange): ChatRequest {
  return {
    model: requiredModel(body),
    messages: requiredMessages(body).map(readMessage),
    tools: functionsIn(body['tools']),
    stream: body['stream'] === true,
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
  };
}

function readMessage(message: JsonObject): ChatMessage {
  const images = objectsOf(message['content'])
    .filter((part) => part['type'] === 'image_url')
    .map((part) => imageOfAddress(stringOf(objectOf(part['image_url'])['url'])));
  return {
    role: readRole(message['role']),
    text: textOfContent(message['content']),
    images,
    toolCalls: objectsOf(message['tool_calls']).map(readCall),
    toolCallId: stringOf(message['tool_call_id']),
  };
}

function readCall(call: JsonObject): RequestedCall {
  const calledFunction = objectOf(call['function']);
  const input = objectOf(parseJson(stringOf(calledFunction['arguments'])));
  return { id: stringOf(call['id']), name: stringOf(calledFunction['name']), arguments: input };
}

function readRole(role: unknown): ChatMessage['role'] {
  if (role === 'system' || role === 'developer') return 'system';
  return role === 'assistant' || role === 'tool' ? role : 'user';
}

function blockingAnswer(request: ChatRequest, answer: Answer): JsonObject {
  const text = joined(answer, 'text');
  const reasoning = joined(answer, 'reasoning');
  const refusal = joined(answer, 'refusal');
  const calls = answer.pieces.filter((piece) => piece.kind === 'tool');
  const message: JsonObject = { role: 'assistant', content: text === '' ? null : text };
  if (reasoning !== '') message['reasoning_content'] = reasoning;
  if (refusal !== '') message['refusal'] = refusal;
  if (calls.length > 0) {
    message['tool_calls'] = calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.chunks.join('') },
    }));
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(answer) };
  return {
    ...envelope(request, 'chat.completion'),
    choices: [choice],
    ...(answer.usage && { usage: usageJson(answer.usage) }),
  };
}

function streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[] {
  const base = envelope(request, 'chat.completion.chunk');
  // With include_usage every chunk has the member, null on all but the last.
  const usage = request.includeUsage && answer.usage ? { usage: null } : {};
  const event = (kind: WireEvent['kind'], delta: JsonObject, finish: string | null = null) => ({
    kind,
    text: serverSentEvent({
      ...base,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...usage,
    }),
  });
  let toolIndex = 0;
  const events = answer.pieces.flatMap((piece): WireEvent[] => {
    if (piece.kind !== 'tool') {
      return piece.chunks.map((chunk) => event('chunk', { [DELTA_MEMBERS[piece.kind]]: chunk }));
    }
    const index = toolIndex++;
    const opening = { index, id: piece.id, type: 'function' };
    return [
      event('frame', {
        tool_calls: [{ ...opening, function: { name: piece.name, arguments: '' } }],
      }),
      ...piece.chunks.map((chunk) =>
        event('chunk', { tool_calls: [{ index, function: { arguments: chunk } }] }),
      ),
    ];
  });
  return [
    event('frame', { role: 'assistant', content: '' }),
    ...events,
    event('finish', {}, finishReason(answer)),
    ...usageEvents(base, request, answer),
    { kind: 'end-mark', text: serverSentEvent('[DONE]') },
  ];
}

const DELTA_MEMBERS = { text: 'content', reasoning: 'reasoning_content', refusal: 'refusal' };

function usageEvents(base: JsonObject, request: ChatRequest, answer: Answer): WireEvent[] {
  if (!request.includeUsage || answer.usage === undefined) return [];
  const event = serverSentEvent({ ...base, choices: [], usage: usageJson(answer.usage) });
  return [{ kind: 'frame', text: event }];
}

function envelope(request: ChatRequest, object: string): JsonObject {
  const created = Math.floor(Date.now() / 1000);
  return { id: `chatcmpl-${randomUUID()}`, object, created, model: request.model };
}

/** A refusal has its own member here, and ends like any other answer. */
function finishReason(answer: Answer): string {
  return answer.finish === 'refusal' ? 'stop' : answer.finish;
}

function usageJson({ promptTokens, completionTokens }: Usage): JsonObject {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function joined(answer: Answer, kind: Piece['kind']): string {
  const pieces = answer.pieces.filter((piece) => piece.kind === kind);
  return pieces.flatMap((piece) => piece.chunks).join('');
}
