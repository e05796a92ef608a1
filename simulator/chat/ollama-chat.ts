import type { Answer, Piece } from '../answer/answer.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf } from '../http/json.js';
import type { ChatProtocol, WireEvent } from './chat-protocol.js';
import {
  type ChatMessage,
  type ChatRequest,
  canThink,
  functionsIn,
  imageOfBytes,
  InvalidRequest,
  requiredMessages,
  requiredModel,
  textOfContent,
} from './chat-request.js';

/**
 * The native chat protocol of the local model runtime: one JSON object per line. Its last line is
 * both the finish reason and the end mark, and a line has no comments: a blank one keeps it alive.
 */
export const ollamaChat: ChatProtocol = {
  streamType: 'application/x-ndjson',
  read,
  blockingAnswer,
  withoutContent: { message: { role: 'assistant', content: '' } },
  streamedAnswer,
  emptyEvent: line({ message: { role: 'assistant', content: '' }, done: false }),
  malformedEvent: '{"message":{"role":"assistant","content":\n',
  keepAlive: '\n',
  errorEvent: line,
};

function read({ body }: Exchange): ChatRequest {
  const model = requiredModel(body);
  if (body['think'] && !canThink(model)) {
    throw new InvalidRequest(`"${model}" does not support thinking`);
  }
  return {
    model,
    messages: requiredMessages(body).map(readMessage),
    tools: functionsIn(body['tools']),
    stream: body['stream'] !== false,
    includeUsage: true,
  };
}

function readMessage(message: JsonObject): ChatMessage {
  const { role } = message;
  const images = Array.isArray(message['images']) ? message['images'] : [];
  return {
    role: role === 'system' || role === 'assistant' || role === 'tool' ? role : 'user',
    text: textOfContent(message['content']),
    images: images.map((image) => {
      const bytes = Buffer.from(stringOf(image), 'base64');
      return imageOfBytes(sniffMime(bytes), bytes);
    }),
    // Calls have no ids here: results answer them in their order.
    toolCalls: objectsOf(message['tool_calls']).map((call) => {
      const calledFunction = objectOf(call['function']);
      return {
        id: '',
        name: stringOf(calledFunction['name']),
        arguments: objectOf(calledFunction['arguments']),
      };
    }),
  };
}

/** Images come without their type here. */
function sniffMime(bytes: Buffer): string {
  if (bytes.subarray(1, 4).toString('latin1') === 'PNG') return 'image/png';
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'image/jpeg';
  return 'image';
}

function blockingAnswer(request: ChatRequest, answer: Answer): JsonObject {
  const message: JsonObject = { role: 'assistant', content: '' };
  for (const piece of answer.pieces) {
    const part = messageFor(piece, piece.chunks.join(''));
    message['content'] = stringOf(message['content']) + stringOf(part['content']);
    if (part['thinking'] !== undefined) message['thinking'] = part['thinking'];
    if (Array.isArray(part['tool_calls'])) {
      const before = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
      message['tool_calls'] = [...before, ...part['tool_calls']];
    }
  }
  return { ...envelope(request), message, ...lastMembers(answer) };
}

function streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[] {
  const base = envelope(request);
  const empty = { role: 'assistant', content: '' };
  const events = answer.pieces.flatMap((piece) => {
    // Tool arguments are one object here, never cut into pieces.
    const chunks = piece.kind === 'tool' ? [piece.chunks.join('')] : piece.chunks;
    return chunks.map((chunk): WireEvent => {
      return {
        kind: 'chunk',
        text: line({ ...base, message: messageFor(piece, chunk), done: false }),
      };
    });
  });
  return [
    ...events,
    { kind: 'finish', text: '' },
    { kind: 'end-mark', text: line({ ...base, message: empty, ...lastMembers(answer) }) },
  ];
}

function messageFor(piece: Piece, chunk: string): JsonObject {
  const message = { role: 'assistant', content: '' };
  if (piece.kind === 'reasoning') return { ...message, thinking: chunk };
  if (piece.kind !== 'tool') return { ...message, content: chunk };
  const call = { name: piece.name, arguments: parseJson(chunk) ?? {} };
  return { ...message, tool_calls: [{ function: call }] };
}

function lastMembers({ finish, usage }: Answer): JsonObject {
  return {
    done: true,
    done_reason: finish === 'length' ? 'length' : 'stop',
    total_duration: 1_000_000,
    load_duration: 1000,
    ...(usage && { prompt_eval_count: usage.promptTokens, eval_count: usage.completionTokens }),
  };
}

function envelope(request: ChatRequest): JsonObject {
  return { model: request.model, created_at: new Date().toISOString() };
}

function line(value: JsonObject): string {
  return `${JSON.stringify(value)}\n`;
}
