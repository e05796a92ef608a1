import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { headOf, isJson, reach, readJson, unreadable } from './answer.js';
import { ApiError, ConnectionError } from './errors.js';
import type {
  CallDecisionBody,
  DiagnosisStepView,
  DiagnosisView,
  EventView,
  ModelTestBody,
  SendBody,
} from './generated/types.gen.js';
import type { Connection } from './settings.js';

export type ChatSendBody = SendBody;

/** Location of a fragment in its document and knowledge base. */
interface FragmentReference {
  readonly knowledgeId: number;
  readonly docId: string;
  readonly fid: string;
  readonly document: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  readonly score: number;
}

/** A fragment that was sent to the model. */
export interface ChatSource extends FragmentReference {
  /** The number by which the answer cites it. */
  readonly number: number;
  readonly content?: string;
  /** Length of the whole fragment in characters, if only its beginning was sent. */
  readonly cutFrom?: number;
  /** Indexes of the first and last fragments sent together with this one, including itself. */
  readonly firstIndex?: number;
  readonly lastIndex?: number;
}

/** A matching fragment that was not sent to the model. */
export interface LeftOutSource extends FragmentReference {
  /** `room`: the context was full. `pieces`: the maximum number of fragments was already reached. */
  readonly reason: 'room' | 'pieces';
}

/** A file of the question that could not be read. The answer is written without it. */
export interface FailedFile {
  readonly id: string;
  readonly name: string;
  readonly state: 'failed';
  /** Explains why the file failed and what to do. */
  readonly reason: string;
}

/** Events of an answer (docs/API.md, POST /chat/send). The failure event is thrown as ApiError instead. */
export type ChatEvent =
  /** The first event of an answer with `detach`. */
  | { readonly event: 'turn'; readonly turnId: string }
  | {
      readonly event: 'sources';
      readonly sources: ChatSource[];
      readonly leftOut?: LeftOutSource[];
      readonly leftOutCount?: number;
      readonly fallback?: boolean;
      readonly incomplete?: boolean;
    }
  | { readonly event: 'files'; readonly files: FailedFile[] }
  | { readonly event: 'content'; readonly content: string; readonly reasoning_content?: string }
  | {
      readonly event: 'tool_call';
      readonly number: number;
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  /** The call waits for a decision of the user (`streamDecisions`). The stream ends then, with the finish reason `waiting`. */
  | {
      readonly event: 'tool_approval';
      readonly turnId: string;
      readonly callId: string;
      readonly number: number;
      readonly id: string;
      readonly name: string;
      readonly argumentsJson: string;
      readonly argumentsSha256: string;
      readonly grantable: boolean;
      /** Milliseconds since the epoch. */
      readonly expiresAt: number;
    }
  | {
      readonly event: 'tool_result';
      readonly number: number;
      readonly id: string;
      readonly name: string;
      readonly state: 'done' | 'failed' | 'timeout' | 'stopped' | 'uncertain';
      readonly summary: string;
      readonly durationMs: number | null;
    }
  | {
      readonly event: 'usage';
      readonly usage: {
        readonly inputTokens: number;
        readonly outputTokens: number;
        readonly totalTokens: number;
        readonly estimated: boolean;
      };
      /** The most recent model calls, if a call was retried or a fallback model answered. */
      readonly attempts?: readonly {
        readonly model: string;
        readonly provider: string;
        readonly outcome: string;
      }[];
    }
  | {
      readonly event: 'done';
      readonly done: true;
      readonly finishReason: string;
      readonly citations?: { readonly cited: number[]; readonly unknown: number[] };
      /** False while the database is unavailable; the answer is buffered and stored later. */
      readonly stored?: boolean;
      /** Whether the content is JSON in the requested format. */
      readonly structured?: boolean;
    };

/** `code` and `data` are absent if the service ended the turn or a stored failure is repeated. */
interface ChatFailure {
  readonly error: string;
  readonly code?: number;
  readonly data?: unknown;
}

const CHAT_EVENTS: readonly string[] = [
  'turn',
  'files',
  'sources',
  'content',
  'tool_call',
  'tool_approval',
  'tool_result',
  'usage',
  'done',
] satisfies readonly ChatEvent['event'][];

/** Events of a model test: the start and end of each step, then the whole diagnosis. */
export type ModelTestEvent =
  | { readonly event: 'start'; readonly step: DiagnosisStepView['step'] }
  | { readonly event: 'step'; readonly step: DiagnosisStepView }
  | { readonly event: 'done'; readonly diagnosis: DiagnosisView };

export type HarnessEvent = EventView;

/** A notice to the signed-in user. */
export interface Notice {
  readonly event: string;
  readonly data: string;
}

export interface ChatStreamOptions extends FollowOptions {
  /** Sending again with the same key returns the stored turn. */
  readonly idempotencyKey?: string;
}

export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Runs when the connection is established and when it is lost and being restored. */
  readonly onConnection?: (state: 'connected' | 'reconnecting') => void;
}

/** Options of a model test; aborting the signal ends it. */
export interface ModelTestOptions {
  readonly signal?: AbortSignal;
}

export interface Streams {
  /**
   * Sends a message and reads its answer. A refusal and a failed turn throw ApiError, a stream that ends before `done` throws
   * ConnectionError. Leaving the loop closes the connection, which stops the turn. With `detach` a connection that is lost after
   * the event `turn` is resumed, and only `chatStop` stops the turn.
   */
  streamChat(
    body: ChatSendBody,
    options?: ChatStreamOptions,
  ): AsyncGenerator<ChatEvent, void, undefined>;
  /**
   * Decides about the tool calls of an answer that wait, and reads its continuation as `streamChat` reads an answer.
   */
  streamDecisions(
    turnId: string,
    decisions: readonly CallDecisionBody[],
    options?: FollowOptions & { readonly detach?: boolean },
  ): AsyncGenerator<ChatEvent, void, undefined>;
  /**
   * Reads a turn with `detach` from its beginning to its end, as `streamChat` reads an answer. A lost connection is resumed. Throws
   * ApiError with the code 404 when the stream is not kept: its messages are complete.
   */
  streamTurn(turnId: string, options?: FollowOptions): AsyncGenerator<ChatEvent, void, undefined>;
  /**
   * Tests a model as `modelTest` does and yields its steps as they happen. An `error` event throws ApiError, and a stream
   * that ends before `done` throws ConnectionError. Leaving the loop closes the connection, which ends the test.
   */
  streamModelTest(
    id: number,
    body?: ModelTestBody,
    options?: ModelTestOptions,
  ): AsyncGenerator<ModelTestEvent, void, undefined>;
  /**
   * Yields the events of a run after the sequence `after`, stored ones first and then live ones, until the run ends. A lost
   * connection is resumed after the last event.
   */
  streamRunEvents(
    sessionId: string,
    runId: string,
    options?: FollowOptions & { readonly after?: number },
  ): AsyncGenerator<HarnessEvent, void, undefined>;
  /**
   * Yields the events of several runs on one connection until the signal aborts or the sign-in ends. After a lost connection,
   * `runs` is called again for the runs to follow and their positions. Throws ApiError with the code 404 for a deleted run,
   * with its index in `data.field` (`runs.1`).
   */
  streamHarness(
    runs: () => readonly FollowedRun[],
    options?: FollowOptions,
  ): AsyncGenerator<HarnessNews, void, undefined>;
  /**
   * Yields the events of all runs of the caller, also of runs that begin later, until the signal aborts or the sign-in ends:
   * those after the number `after`, without it those from now on. `synced` tells the number up to which all stored events
   * were received. A lost connection is resumed after the last event.
   */
  streamUserEvents(
    options?: FollowOptions & { readonly after?: number },
  ): AsyncGenerator<UserNews, void, undefined>;
  /** Yields notices to the signed-in user until the signal aborts. Throws ApiError when the sign-in ends, or where EXISTING_CONSOLES=off removes the route. */
  streamNotices(options?: FollowOptions): AsyncGenerator<Notice, void, undefined>;
}

export function streamsOf(connection: Connection): Streams {
  return {
    streamChat: (body, options = {}) =>
      streamChat(connection, { path: '/chat/send', body }, options),
    streamDecisions: (turnId, decisions, { detach, ...options } = {}) =>
      streamChat(
        connection,
        {
          path: `/chat/turns/${turnId}/decisions`,
          body: { decisions, ...(detach && { detach }) },
        },
        options,
      ),
    streamTurn: (turnId, options = {}) => streamTurn(connection, { turnId }, options),
    streamModelTest: (id, body = {}, options = {}) =>
      streamModelTest(connection, { id, body }, options),
    streamRunEvents: (sessionId, runId, options = {}) =>
      streamRunEvents(connection, { sessionId, runId }, options),
    streamHarness: (runs, options = {}) => streamHarness(connection, runs, options),
    streamUserEvents: (options = {}) => streamUserEvents(connection, options),
    streamNotices: (options = {}) => streamNotices(connection, options),
  };
}

async function* streamChat(
  connection: Connection,
  { path, body }: { readonly path: string; readonly body: object },
  { idempotencyKey, ...options }: ChatStreamOptions,
): AsyncGenerator<ChatEvent, void, undefined> {
  const headers = new Headers({ 'Content-Type': 'application/json' });
  if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
  const call = { path, method: 'POST', headers, body: JSON.stringify(body) };
  const onOpen = (): void => options.onConnection?.('connected');
  let turnId: string | undefined;
  let last: string | undefined;
  try {
    for await (const frame of framesOf(connection, call, options.signal, onOpen)) {
      const received = chatEventOf(frame);
      last = frame.id ?? last;
      if (!received) continue;
      if (received.event === 'turn') ({ turnId } = received);
      yield received;
      if (received.event === 'done') return;
    }
  } catch (error) {
    if (!(error instanceof ConnectionError) || turnId === undefined) throw error;
  }
  if (turnId === undefined) {
    throw new ConnectionError('The connection was lost before the answer was complete.');
  }
  options.onConnection?.('reconnecting');
  yield* streamTurn(connection, { turnId, last }, options);
}

async function* streamTurn(
  connection: Connection,
  turn: { readonly turnId: string; readonly last?: string | undefined },
  options: FollowOptions,
): AsyncGenerator<ChatEvent, void, undefined> {
  const path = `/chat/turns/${encodeURIComponent(turn.turnId)}/stream`;
  let { last } = turn;
  const call = (): Call => ({
    path,
    headers: new Headers(last === undefined ? {} : { 'Last-Event-ID': last }),
  });
  for await (const frame of followed(connection, call, options)) {
    const received = chatEventOf(frame);
    last = frame.id ?? last;
    if (received) yield received;
    if (received?.event === 'done') return;
  }
}

/** The event of a frame; undefined for one that this client does not know. Throws ApiError for the failure of the turn. */
function chatEventOf({ event = '', data, requestId }: Frame): ChatEvent | undefined {
  if (event === 'error') {
    const failure = JSON.parse(data) as ChatFailure;
    const { error: message, code = 500, data: details = null } = failure;
    throw new ApiError({ code, message, data: details, status: 200, requestId });
  }
  return CHAT_EVENTS.includes(event) ? (JSON.parse(data) as ChatEvent) : undefined;
}

async function* streamModelTest(
  connection: Connection,
  { id, body }: { readonly id: number; readonly body: ModelTestBody },
  { signal }: ModelTestOptions,
): AsyncGenerator<ModelTestEvent, void, undefined> {
  const headers = new Headers({ 'Content-Type': 'application/json' });
  const path = `/system/model/${id}/test`;
  const call = { path, method: 'POST', headers, body: JSON.stringify(body) };
  for await (const { event, data } of framesOf(connection, call, signal)) {
    const received = JSON.parse(data) as unknown;
    if (event === 'error') {
      const { code, msg, data: details } = received as { code: number; msg: string; data: unknown };
      throw new ApiError({ code, message: msg, data: details, status: 200, requestId: undefined });
    }
    if (event === 'start') yield { event, step: (received as DiagnosisStepView).step };
    if (event === 'step') yield { event, step: received as DiagnosisStepView };
    if (event === 'done') {
      yield { event, diagnosis: received as DiagnosisView };
      return;
    }
  }
  throw new ConnectionError('The connection was lost before the test was over.');
}

const RUN_ENDS = ['run.completed', 'run.failed', 'run.cancelled'];

async function* streamRunEvents(
  connection: Connection,
  { sessionId, runId }: Pick<FollowedRun, 'sessionId' | 'runId'>,
  { after = 0, ...options }: FollowOptions & { readonly after?: number },
): AsyncGenerator<HarnessEvent, void, undefined> {
  const path = `/coding/harness/sessions/${encodeURIComponent(sessionId)}/runs/${encodeURIComponent(runId)}/events/stream`;
  let last = after;
  const frames = followed(connection, () => ({ path: `${path}?afterSequence=${last}` }), options);
  for await (const { data } of frames) {
    const event = JSON.parse(data) as HarnessEvent;
    if (event.sequence <= last) continue;
    last = event.sequence;
    yield event;
    if (RUN_ENDS.includes(event.type)) return;
  }
}

/** A run to follow and the sequence of the last received event. */
export interface FollowedRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly after: number;
}

/** Messages of the stream of several runs. */
export type HarnessNews =
  | { readonly kind: 'event'; readonly event: HarnessEvent }
  /** `synced`: all stored events of the run were received. `over`: the run has no further events. */
  | { readonly kind: 'synced' | 'over'; readonly runId: string }
  /** Number of pending decisions. */
  | { readonly kind: 'count'; readonly count: number };

const USER_STREAM = '/coding/harness/events/stream';

async function* streamHarness(
  connection: Connection,
  runs: () => readonly FollowedRun[],
  options: FollowOptions,
): AsyncGenerator<HarnessNews, void, undefined> {
  const request = (): Call => ({
    path: USER_STREAM,
    method: 'POST',
    headers: new Headers({ 'Content-Type': 'application/json' }),
    body: JSON.stringify({
      runs: runs().map(({ after: afterSequence, ...run }) => ({ ...run, afterSequence })),
    }),
  });
  for await (const { event = '', data } of followed(connection, request, options)) {
    yield newsOf(event, data);
  }
}

function newsOf(event: string, text: string): HarnessNews {
  const data = JSON.parse(text) as unknown;
  if (event === 'inbox.count') return { kind: 'count', count: (data as { count: number }).count };
  if (event === 'run.synced' || event === 'run.over') {
    const kind = event === 'run.over' ? 'over' : 'synced';
    return { kind, runId: (data as { runId: string }).runId };
  }
  return { kind: 'event', event: data as HarnessEvent };
}

/** Messages of the stream of a user; `position` is the number among all events of the user. */
export type UserNews =
  | { readonly kind: 'event'; readonly position: number; readonly event: HarnessEvent }
  | { readonly kind: 'synced'; readonly position: number };

async function* streamUserEvents(
  connection: Connection,
  { after, ...options }: FollowOptions & { readonly after?: number },
): AsyncGenerator<UserNews, void, undefined> {
  let last = after;
  const request = (): Call => ({
    path: last === undefined ? USER_STREAM : `${USER_STREAM}?afterSequence=${last}`,
    withComments: true,
  });
  for await (const { id, event, data } of followed(connection, request, options)) {
    if (event === COMMENT) {
      const synced = /^ *sync (\d+)$/.exec(data);
      if (!synced) continue;
      last = Number(synced[1]);
      yield { kind: 'synced', position: last };
    } else {
      last = Number(id);
      yield { kind: 'event', position: last, event: JSON.parse(data) as HarnessEvent };
    }
  }
}

async function* streamNotices(
  connection: Connection,
  options: FollowOptions,
): AsyncGenerator<Notice, void, undefined> {
  for await (const { event = 'message', data } of followed(
    connection,
    () => ({ path: '/resource/sse' }),
    options,
  )) {
    yield { event, data };
  }
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;

/** The request that opens a stream. */
interface Call extends RequestInit {
  readonly path: string;
  readonly headers?: Headers;
  /** Yields comments, too, as frames with the event COMMENT. */
  readonly withComments?: boolean;
}

/** No name of an event that a server sends. */
const COMMENT = ': comment';

/** Yields the frames of a stream and reopens it whenever it ends, until the server has nothing more to send. */
async function* followed(
  connection: Connection,
  call: () => Call,
  { signal, onConnection }: FollowOptions,
): AsyncGenerator<Frame, void, undefined> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const frames = framesOf(connection, call(), signal, () => onConnection?.('connected'));
      for await (const frame of frames) {
        attempt = 0;
        yield frame;
      }
    } catch (error) {
      if (error instanceof StreamOver) return;
      if (!isPassing(error)) throw error;
    }
    onConnection?.('reconnecting');
    await delay(Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS), signal);
  }
}

/** Whether the same request may succeed later. */
function isPassing(error: unknown): boolean {
  if (error instanceof ApiError)
    return error.code === 429 || error.status >= 500 || error.code === 503;
  return error instanceof ConnectionError;
}

/** Thrown when the server reports that the stream is complete. */
class StreamOver extends Error {}

type Frame = EventSourceMessage & { readonly requestId: string | undefined };

/** The server sends a comment at least every 30 seconds, so a longer silence means a lost connection. */
const SILENCE_MS = 75_000;

/** Opens an event stream and reads its frames until it ends. */
async function* framesOf(
  connection: Connection,
  call: Call,
  signal?: AbortSignal,
  onOpen?: () => void,
): AsyncGenerator<Frame, void, undefined> {
  const silence = new AbortController();
  const watch = setInterval(() => {
    if (Date.now() - lastReceived > SILENCE_MS) silence.abort();
  }, SILENCE_MS / 5);
  let lastReceived = Date.now();
  try {
    const either = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    const { withComments = false, ...request } = call;
    const response = await open(connection, { ...request, signal: either }, signal);
    onOpen?.();
    const requestId = response.headers.get('X-Request-Id') ?? undefined;
    const frames: EventSourceMessage[] = [];
    const parser = createParser({
      onEvent: (frame) => frames.push(frame),
      ...(withComments && {
        onComment: (data: string) => frames.push({ id: undefined, event: COMMENT, data }),
      }),
    });
    for await (const text of textsOf(response, signal)) {
      lastReceived = Date.now();
      parser.feed(text);
      for (const frame of frames.splice(0)) yield { ...frame, requestId };
    }
  } finally {
    clearInterval(watch);
    silence.abort();
  }
}

async function open(
  connection: Connection,
  { path, headers = new Headers(), ...init }: Call,
  signal: AbortSignal | undefined,
): Promise<Response> {
  headers.set('Accept', 'text/event-stream');
  connection.addCallerHeaders(headers);
  const address = connection.addressOf(path);
  const response = await reach(() => fetch(address, { ...init, headers }), signal);
  if (response.status === 204) throw new StreamOver();
  const head = headOf(response, connection);
  if (response.ok && (head.header('Content-Type') ?? '').startsWith('text/event-stream')) {
    return response;
  }
  if (isJson(head)) readJson(head, await reach(() => response.text(), signal));
  throw unreadable(head);
}

async function* textsOf(
  { body }: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reach(() => reader.read(), signal);
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/** Resolves after the time; rejects with the reason of the signal when that aborts earlier. */
function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
