import { randomUUID } from 'node:crypto';
import type { Answer } from '../answer/answer.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, objectOf, stringOf } from '../http/json.js';
import { chatCompletions } from './chat-completions.js';
import type { ChatProtocol, WireEvent } from './chat-protocol.js';
import { InvalidRequest, requiredModel } from './chat-request.js';
import type { ChatRequest } from './chat-request.js';
import { serverSentEvent } from './server-sent-event.js';

/** Completions of a text as OpenAI, vLLM and llama.cpp answer them (references of November 2026). */
export const textCompletions: ChatProtocol = {
  ...chatCompletions,
  read,
  blockingAnswer: (request, answer) => ({
    ...envelope(request),
    choices: [choiceOf(textOf(answer), answer.finish)],
    ...(answer.usage && { usage: usageJson(answer) }),
  }),
  streamedAnswer,
  emptyEvent: serverSentEvent({ id: '', object: 'text_completion', choices: [] }),
};

/** Fill-in-the-middle as Mistral answers it: the request of a completion, the answer of a chat. */
export const fimCompletions: ChatProtocol = { ...chatCompletions, read };

function read({ body }: Exchange): ChatRequest {
  const model = requiredModel(body);
  const { prompt, suffix } = body;
  if (typeof prompt !== 'string') throw new InvalidRequest('prompt: a text is required');
  const text = typeof suffix === 'string' ? `${prompt}<fill>${suffix}` : prompt;
  return {
    model,
    messages: [{ role: 'user', text, images: [] }],
    tools: [],
    stream: body['stream'] === true,
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
  };
}

function streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[] {
  const base = envelope(request);
  const chunks = answer.pieces.flatMap((piece) => (piece.kind === 'text' ? piece.chunks : []));
  const event = (kind: WireEvent['kind'], data: JsonObject): WireEvent => ({
    kind,
    text: serverSentEvent({ ...base, ...data }),
  });
  const usage = request.includeUsage && answer.usage;
  return [
    ...chunks.map((chunk) => event('chunk', { choices: [choiceOf(chunk, null)] })),
    event('finish', { choices: [choiceOf('', answer.finish)] }),
    ...(usage ? [event('frame', { choices: [], usage: usageJson(answer) })] : []),
    { kind: 'end-mark', text: serverSentEvent('[DONE]') },
  ];
}

function textOf(answer: Answer): string {
  return answer.pieces.flatMap(({ kind, chunks }) => (kind === 'text' ? chunks : [])).join('');
}

function choiceOf(text: string, finish: string | null): JsonObject {
  return { text, index: 0, logprobs: null, finish_reason: finish };
}

function envelope({ model }: ChatRequest): JsonObject {
  const created = Math.floor(Date.now() / 1_000);
  return { id: `cmpl-${randomUUID()}`, object: 'text_completion', created, model: stringOf(model) };
}

function usageJson({ usage }: Answer): JsonObject {
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  const total = promptTokens + completionTokens;
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total };
}
