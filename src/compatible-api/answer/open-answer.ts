import type { Response } from 'express';
import type { Caller, StreamEnd } from '../../platform/access/index.js';
import {
  setEnvelopeCode,
  UnauthenticatedError,
  UnavailableError,
} from '../../platform/error/index.js';
import { onClose, SseWriter } from '../../platform/http/index.js';
import { phrase } from '../../platform/message/index.js';
import { CallTrail } from '../../model/index.js';
import { nameAttempts } from './attempt-headers.js';
import type { ApiRequest, HeldRequest } from './api.request.js';
import { IgnoredParameters } from './ignored-parameters.js';

/** Why an answer ends before the model has finished it. */
type EndReason = StreamEnd | 'client-left';

/** After so many intervals of pings a silent stream begins. */
const SILENT_INTERVALS = 3;

class AnswerEnded extends Error {
  override readonly name = 'AbortError';

  constructor(readonly reason: EndReason) {
    super(`The answer was ended: ${reason}.`);
  }
}

/** What is answered, to a client that waits or in the background. */
export type CallInProgress = Pick<
  OpenAnswer,
  | ('caller' | 'request' | 'trail' | 'ignored' | 'signal' | 'hasBegun')
  | ('end' | 'write' | 'finish' | 'answer' | 'errorFor')
>;

/**
 * One request while it is answered. A stream begins with its first event, so that an earlier failure has its HTTP status. One
 * that is silent for SILENT_INTERVALS of `pingMs` begins with a comment: proxies cut a request in which nothing comes for a minute.
 */
export class OpenAnswer<Asked extends HeldRequest = ApiRequest> {
  /** The attempts of the model. */
  readonly trail = new CallTrail();
  readonly ignored: IgnoredParameters;
  private readonly abort = new AbortController();
  private writer: SseWriter | undefined;
  private readonly silence: NodeJS.Timeout | undefined;

  constructor(
    readonly caller: Caller,
    readonly request: Asked,
    private readonly response: Response,
    private readonly pingMs: number,
  ) {
    this.ignored = request.ignored ?? IgnoredParameters.of(caller);
    if (request.stream) {
      const limitMs = SILENT_INTERVALS * pingMs;
      this.silence = setTimeout(() => this.hasBegun || this.begin(), limitMs);
    }
    onClose(response, () => {
      clearTimeout(this.silence);
      if (!response.writableFinished) this.end('client-left');
    });
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Whether the HTTP status was sent. */
  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  end(reason: EndReason): void {
    if (!this.signal.aborted) this.abort.abort(new AnswerEnded(reason));
  }

  /** Writes whole events, and waits for a client that reads slowly. */
  async write(events: string | Buffer): Promise<void> {
    this.signal.throwIfAborted();
    if (events.length === 0) return;
    const writer = this.writer ?? this.begin({ comment: false });
    if (!writer.write(events)) await writer.drained(this.signal);
  }

  /** Begins the stream, so that its client knows that there is one before the first event. */
  begin(start: { readonly comment: boolean } = { comment: true }): SseWriter {
    clearTimeout(this.silence);
    this.nameCall();
    const { ping, type } = this.request;
    this.writer = new SseWriter(this.response, this.pingMs, { ping, type });
    this.writer.start(start);
    return this.writer;
  }

  finish(): void {
    setEnvelopeCode(this.response, 200);
    this.nameCall();
    this.writer?.end();
  }

  answer(body: string, type = 'json'): void {
    this.signal.throwIfAborted();
    setEnvelopeCode(this.response, 200);
    this.nameCall();
    this.response.status(200).type(type).send(body);
  }

  /** The headers of an answer that fails before it has begun. */
  name(): void {
    this.nameCall();
  }

  /** In headers: which model answers, and what of the request it does not know. The request log is told of the latter by the end, too. */
  private nameCall(): void {
    if (!this.hasBegun) nameAttempts(this.response, this.trail);
    this.ignored.name(this.response, this.trail, this.request.names);
  }

  /** Ends a stream with the event of its failure. */
  fail(code: number, event: string): void {
    setEnvelopeCode(this.response, code);
    this.nameCall();
    this.writer?.write(event);
    this.writer?.end();
  }

  /** The error for the client; undefined when it has left. */
  errorFor(error: unknown): Error | undefined {
    return errorFor(error, this.signal);
  }
}

/**
 * One request that is answered without a client that waits: in the background, where what is made of the answer is kept by the request, or
 * as a line of a batch, which takes the answer in one piece.
 */
export class DetachedAnswer<Asked extends HeldRequest = ApiRequest> implements Pick<
  OpenAnswer<Asked>,
  keyof CallInProgress
> {
  readonly trail = new CallTrail();
  readonly ignored: IgnoredParameters;
  readonly hasBegun = false;
  /** The answer in one piece. */
  json: string | undefined;
  private readonly abort = new AbortController();

  constructor(
    readonly caller: Caller,
    readonly request: Asked,
    /** Takes the events of a stream. */
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

  async write(events: string | Buffer): Promise<void> {
    this.signal.throwIfAborted();
    await this.onEvents?.(events);
  }

  answer(json: string): void {
    this.signal.throwIfAborted();
    this.json = json;
  }

  finish(): void {
    this.signal.throwIfAborted();
  }

  errorFor(error: unknown): Error | undefined {
    return errorFor(error, this.signal);
  }
}

function errorFor(error: unknown, signal: AbortSignal): Error | undefined {
  const reason: unknown = signal.reason;
  if (!(reason instanceof AnswerEnded)) {
    return error instanceof Error ? error : new Error('Unknown failure', { cause: error });
  }
  switch (reason.reason) {
    case 'client-left':
      return undefined;
    case 'signed-out':
      return new UnauthenticatedError();
    case 'shutdown':
      return new UnavailableError(phrase`Plinth`);
  }
}
