import type { Response } from 'express';
import { ACCESS_LOST } from '../../platform/access/index.js';
import type { Caller, StreamEnd, StreamPlace } from '../../platform/access/index.js';
import {
  ForbiddenError,
  setEnvelopeCode,
  UnauthenticatedError,
  UnavailableError,
} from '../../platform/error/index.js';
import type { Failure } from '../../platform/error/index.js';
import {
  currentRequest,
  onClose,
  setIgnoredParameters,
  SseWriter,
} from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { CallTrail } from '../../model/index.js';
import type { ResolvedModel } from '../../model/index.js';
import type { LimitLeft } from '../../usage/index.js';
import { UnsupportedParameterError } from './api.errors.js';

// A request while it is answered, and what the headers of its response say about the models that were called.

/** The parts of a request that affect the stream and headers of its answer. */
export interface StreamableRequest {
  readonly stream: boolean;
  /** Hints ignored before the answer began. */
  readonly ignored?: IgnoredParameters;
  /** Keeps a silent stream open, where clients of the protocol take no comments. */
  readonly ping?: string;
  /** Content type of a stream other than server-sent events. */
  readonly type?: string;
  readonly names?: HintNames;
  /** The last event of a stream that failed. No end mark follows, so that no client takes the answer for complete. */
  failureEvent(failure: Failure): string;
}

/** Names of hints that differ between protocols. */
export interface HintNames {
  readonly effort: string;
  readonly parallelToolCalls: string;
}

/** Why an answer ends before the model has finished it. */
type EndReason = StreamEnd | 'client-left';

class AnswerEnded extends Error {
  override readonly name = 'AbortError';

  constructor(readonly reason: EndReason) {
    super(`The answer was ended: ${reason}.`);
  }
}

/**
 * A request while it is answered. This class answers one for which no client waits: a response in the background, whose events go to
 * `onEvents`, or a line of a batch, whose answer is kept as `body`.
 */
export class Answer<Request extends StreamableRequest> {
  readonly trail = new CallTrail();
  readonly ignored: IgnoredParameters;
  /** The answer as one body. */
  body = '';
  /** Whether the caller, as of now, may still use what answers. Set once it is known. */
  mayGoOn: StreamPlace['mayGoOn'];
  private readonly abort = new AbortController();

  constructor(
    readonly caller: Caller,
    readonly request: Request,
    private readonly onEvents?: (events: string | Buffer) => Promise<void>,
  ) {
    this.ignored = request.ignored ?? IgnoredParameters.of(caller);
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  end(reason: EndReason): void {
    if (!this.signal.aborted) this.abort.abort(new AnswerEnded(reason));
  }

  /** Writes whole events of a stream. */
  async write(events: string | Buffer): Promise<void> {
    this.signal.throwIfAborted();
    await this.onEvents?.(events);
  }

  /** Ends the stream. */
  finish(): void {
    this.signal.throwIfAborted();
  }

  /** Sends the answer as one body. */
  send(body: string, _type = 'json'): void {
    this.signal.throwIfAborted();
    this.body = body;
  }

  /** The error for the client; undefined if it has disconnected. */
  errorFor(error: unknown): Error | undefined {
    const reason: unknown = this.signal.reason;
    if (!(reason instanceof AnswerEnded)) {
      return error instanceof Error ? error : new Error('Unknown failure', { cause: error });
    }
    switch (reason.reason) {
      case 'client-left':
        return undefined;
      case 'signed-out':
        return new UnauthenticatedError();
      case 'access-lost':
        return new ForbiddenError(ACCESS_LOST);
      case 'shutdown':
        return new UnavailableError(msg`Plinth`);
    }
  }
}

/** A stream that is silent for this many ping intervals starts with a comment, because proxies drop silent requests after a minute. */
const SILENT_INTERVALS = 3;

/** The answer to a waiting client. A stream starts with its first event, so that earlier failures keep their HTTP status. */
export class HttpAnswer<Request extends StreamableRequest> extends Answer<Request> {
  private writer: SseWriter | undefined;
  private readonly silence: NodeJS.Timeout | undefined;

  constructor(
    caller: Caller,
    request: Request,
    private readonly response: Response,
    private readonly pingMs: number,
  ) {
    super(caller, request);
    if (request.stream) {
      const limitMs = SILENT_INTERVALS * pingMs;
      this.silence = setTimeout(() => this.hasBegun || this.begin(), limitMs);
    }
    onClose(response, () => {
      clearTimeout(this.silence);
      if (!response.writableFinished) this.end('client-left');
    });
  }

  /** Whether the HTTP status was sent. */
  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  /** Starts the stream before the first event. */
  begin(start: { readonly comment: boolean } = { comment: true }): SseWriter {
    clearTimeout(this.silence);
    this.setHeaders();
    const { ping, type } = this.request;
    this.writer = new SseWriter(this.response, this.pingMs, { ping, type });
    this.writer.start(start);
    return this.writer;
  }

  /** Waits for a client that reads slowly. */
  override async write(events: string | Buffer): Promise<void> {
    this.signal.throwIfAborted();
    if (events.length === 0) return;
    const writer = this.writer ?? this.begin({ comment: false });
    if (!writer.write(events)) await writer.drained(this.signal);
  }

  override finish(): void {
    setEnvelopeCode(this.response, 200);
    this.setHeaders();
    this.writer?.end();
  }

  override send(body: string, type = 'json'): void {
    this.signal.throwIfAborted();
    setEnvelopeCode(this.response, 200);
    this.setHeaders();
    this.response.status(200).type(type).send(body);
  }

  /** Ends a stream with the event of its failure. */
  fail(code: number, event: string): void {
    setEnvelopeCode(this.response, code);
    this.setHeaders();
    this.writer?.write(event);
    this.writer?.end();
  }

  /** The request log reads the ignored parameters at the end, when headers can no longer be set. */
  setHeaders(): void {
    if (!this.hasBegun) setTrailHeaders(this.response, this.trail);
    this.ignored.report(this.response, this.trail, this.request.names);
  }
}

/** Hints by their names at model services. */
const HINTS_OF_SERVICES: Readonly<Record<string, keyof HintNames>> = {
  reasoning_effort: 'effort',
  'reasoning.effort': 'effort',
  'output_config.effort': 'effort',
  parallel_tool_calls: 'parallelToolCalls',
  disable_parallel_tool_use: 'parallelToolCalls',
};

/**
 * The hints of one request that are left out for its model. A hint says how to answer, never what is asked, so that it ends no
 * call, unless the API key of the caller or the model is strict.
 */
export class IgnoredParameters {
  private readonly ofRequest = new Set<string>();
  private readonly ofModel = new Set<string>();
  private hasStrictModel = false;

  constructor(private readonly hasStrictKey: boolean) {}

  static of({ apiKey }: Pick<Caller, 'apiKey'>): IgnoredParameters {
    return new IgnoredParameters(apiKey?.strictParameters === true);
  }

  /** Throws UnsupportedParameterError if the key or the model is strict. */
  add(param: string): void {
    this.requireLenient(param);
    this.ofRequest.add(param);
  }

  /** Adds a hint that the called model does not support; another model may. Throws like `add`. */
  addOfModel(param: string): void {
    this.requireLenient(param);
    this.ofModel.add(param);
  }

  /** Called before each model call. Throws UnsupportedParameterError if the model is strict and a hint was ignored. */
  beginModel({ strictParameters = false }: Pick<ResolvedModel, 'strictParameters'>): void {
    this.ofModel.clear();
    this.hasStrictModel = strictParameters;
    for (const param of this.ofRequest) this.requireLenient(param);
  }

  /** Throws UnsupportedParameterError if the key or the model is strict: an emulation by Plinth is not what was requested. */
  requireLenient(param: string): void {
    if (this.hasStrictKey || this.hasStrictModel) throw new UnsupportedParameterError(param);
  }

  /**
   * Reports them to the client and the request log, with those of the trail, which the service that answers refuses by name. Hints
   * that protocols write differently have the names of the client.
   */
  report(response: Response, { leftOut }: CallTrail, names?: HintNames): void {
    const refused = leftOut.map((name) => {
      const hint = Object.hasOwn(HINTS_OF_SERVICES, name) ? HINTS_OF_SERVICES[name] : undefined;
      return (hint && names?.[hint]) ?? name;
    });
    setIgnoredParameters(response, [...new Set([...this.ofRequest, ...this.ofModel, ...refused])]);
  }
}

/** Facts about a unary call that response headers report. */
export interface ReportedCall {
  readonly trail: CallTrail;
  readonly ignored: IgnoredParameters;
}

/** Runs a unary call. Response headers report attempts, limits and ignored parameters, also on failure. */
export async function reportingCall<T>(
  caller: Pick<Caller, 'apiKey'>,
  response: Response,
  call: (reported: ReportedCall) => Promise<T>,
): Promise<T> {
  const trail = new CallTrail();
  const ignored = IgnoredParameters.of(caller);
  try {
    return await call({ trail, ignored });
  } finally {
    setTrailHeaders(response, trail);
    ignored.report(response, trail);
  }
}

const MESSAGES = /^\/v1\/messages(\/|$)/i;

/**
 * Names the model that answers, where its service was called several times or it is not the one of the request, and what is left
 * of the limits of Plinth and of the service.
 */
function setTrailHeaders(response: Response, trail: CallTrail): void {
  const { isEventful, modelName, size, nearestLimits, upstreamLimits } = trail;
  if (isEventful && modelName !== undefined) {
    response.setHeader('x-plinth-model', encodeURIComponent(modelName));
    response.setHeader('x-plinth-attempts', size);
  }
  const { requests, tokens } = nearestLimits ?? {};
  const isMessages = MESSAGES.test(response.req.path);
  for (const [unit, limit] of [['requests', requests] as const, ['tokens', tokens] as const]) {
    if (limit) response.set(isMessages ? anthropicLimit(unit, limit) : openAiLimit(unit, limit));
  }
  for (const [name, value] of Object.entries(upstreamLimits)) {
    response.setHeader(`x-upstream-${name.replace(/^x-/, '')}`, value);
  }
}

/** OpenAI sends the reset as a duration. */
function openAiLimit(unit: string, { cap, remaining, resetSeconds }: LimitLeft): object {
  return {
    [`x-ratelimit-limit-${unit}`]: String(cap),
    [`x-ratelimit-remaining-${unit}`]: String(Math.floor(remaining)),
    [`x-ratelimit-reset-${unit}`]: durationOf(Math.ceil(resetSeconds)),
  };
}

/** Anthropic sends the reset as a timestamp. */
function anthropicLimit(unit: string, { cap, remaining, resetSeconds }: LimitLeft): object {
  const time = new Date(Date.now() + Math.ceil(resetSeconds) * 1_000);
  return {
    [`anthropic-ratelimit-${unit}-limit`]: String(cap),
    [`anthropic-ratelimit-${unit}-remaining`]: String(Math.floor(remaining)),
    [`anthropic-ratelimit-${unit}-reset`]: time.toISOString().replace(/\.\d+/, ''),
  };
}

/** `1h2m3s`, `6m0s`, `12s`. */
function durationOf(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const begin = `${hours > 0 ? `${hours}h` : ''}${hours + minutes > 0 ? `${minutes}m` : ''}`;
  return `${begin}${seconds % 60}s`;
}

/** The header in which every client of the messages form names its version. */
export const VERSION = 'anthropic-version';

/** The header in which the SDKs look for the id of a request. */
export function requestIdHeader(): Record<string, string> {
  const id = currentRequest()?.id;
  return id === undefined ? {} : { 'request-id': id };
}
