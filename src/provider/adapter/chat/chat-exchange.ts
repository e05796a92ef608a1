import type { OutboundHttp, OutboundResponse } from '../../../outbound/index.js';
import type { Secrets } from '../safe-text.js';
import { errorOfAnswer, upstreamErrorOf } from '../upstream-failure.js';
import type { ChatCallOptions, ChatCompletion, ChatPart } from './chat.adapter.js';
import { parseJson, protocolError } from './stream-mapping.js';
import type { StreamMapping } from './stream-mapping.js';

/** What one call sends. */
export interface ChatRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly secrets: Secrets;
}

const LARGEST_ERROR_BYTES = 64 * 1024;
const LARGEST_ANSWER_BYTES = 16 * 1024 * 1024;
/** How long usage and the end mark may lag behind the finish reason before the answer counts as over. */
const AFTER_FINISH_MS = 2_000;

/** How a protocol reads one answer, and the answer of a service that ignores the wish for a stream. */
export interface AnswerReading {
  readonly mapping: StreamMapping;
  readonly toCompletion: (answer: unknown) => ChatCompletion;
}

/** Posts and reads a streamed answer. */
export async function* streamChat(
  http: OutboundHttp,
  request: ChatRequest,
  options: ChatCallOptions,
  { mapping, toCompletion }: AnswerReading,
): AsyncGenerator<readonly ChatPart[], void, void> {
  const response = await post(http, request, options);
  const type = response.headers['content-type'] ?? '';
  if (/^text\/html/i.test(type)) {
    response.discard();
    throw protocolError('The address answered with a web page.');
  }
  if (/^application\/json/i.test(type)) {
    yield partsOf(toCompletion(await answerOf(response)));
    return;
  }
  yield* readStream(response, mapping, options.signal);
}

/** Posts and reads an answer in one piece, as parsed JSON. */
export async function completeChat(
  http: OutboundHttp,
  request: ChatRequest,
  options: ChatCallOptions,
): Promise<unknown> {
  return answerOf(await post(http, request, options));
}

async function post(
  http: OutboundHttp,
  { url, headers, body, secrets }: ChatRequest,
  { limits, signal }: ChatCallOptions,
): Promise<OutboundResponse> {
  try {
    const response = await http.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal,
      timeouts: limits,
    });
    if (response.status < 400) return response;
    throw errorOfAnswer(
      {
        status: response.status,
        body: await errorText(response),
        retryAfter: response.headers['retry-after'],
      },
      secrets,
    );
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

/** The text only explains the status; an answer too long or cut is no reason to hide the status. */
async function errorText(response: OutboundResponse): Promise<string> {
  try {
    return await response.text(LARGEST_ERROR_BYTES);
  } catch {
    return '';
  }
}

async function answerOf(response: OutboundResponse): Promise<unknown> {
  try {
    return parseJson(await response.text(LARGEST_ANSWER_BYTES));
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

async function* readStream(
  response: OutboundResponse,
  mapping: StreamMapping,
  signal: AbortSignal,
): AsyncGenerator<readonly ChatPart[], void, void> {
  let afterFinish: NodeJS.Timeout | undefined;
  try {
    for await (const bytes of reads(response, mapping, signal)) {
      const { parts, failure } = mapped((into) => mapping.read(bytes, into));
      if (parts.length > 0) yield parts;
      if (failure !== undefined) throw failure;
      if (mapping.isOver) {
        response.discard();
        break;
      }
      if (mapping.isFinished) {
        afterFinish ??= setTimeout(() => response.discard(), AFTER_FINISH_MS);
      }
    }
  } finally {
    clearTimeout(afterFinish);
  }
  const { parts, failure } = mapped((into) => mapping.end(into));
  if (parts.length > 0) yield parts;
  if (failure !== undefined) throw failure;
}

/** A connection lost after the finish reason has lost nothing of the answer. */
async function* reads(
  response: OutboundResponse,
  mapping: StreamMapping,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  try {
    yield* response.body;
  } catch (error) {
    if (!mapping.isFinished || signal.aborted) throw upstreamErrorOf(error);
  }
}

/** What came before a failure is part of the answer, so it is kept beside the failure. */
function mapped(map: (parts: ChatPart[]) => void): { parts: ChatPart[]; failure?: Error } {
  const parts: ChatPart[] = [];
  try {
    map(parts);
    return { parts };
  } catch (failure) {
    return { parts, failure: upstreamErrorOf(failure) };
  }
}

function partsOf(completion: ChatCompletion): ChatPart[] {
  const { reasoning, text, toolCalls, usage, finish } = completion;
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning-delta', text: reasoning } as const]),
    ...(text === '' ? [] : [{ type: 'text-delta', text } as const]),
    ...toolCalls.map((toolCall) => ({ type: 'tool-call', toolCall }) as const),
    ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    { type: 'finish', ...finish },
  ];
}
