import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller, StreamEnd, StreamPlace } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { unavailableError } from '../../platform/database/index.js';
import {
  DomainError,
  setEnvelopeCode,
  UnauthenticatedError,
  UnavailableError,
  unexpectedMessage,
} from '../../platform/error/index.js';
import { currentRequest, localized, SseWriter } from '../../platform/http/index.js';
import { phrase } from '../../platform/message/index.js';
import { ResponseFormats } from '../../agent/index.js';
import { ChatStreams, StructuredAnswers, turnLimits } from '../../chat/index.js';
import { ModelResolver, UpstreamCalls } from '../../model/index.js';
import type { CallOptions, ResolvedChatModel } from '../../model/index.js';
import type { ChatCall, ChatMessage, ChatPart, ResponseFormat } from '../../provider/index.js';
import { AgentCompletions } from './agent-completions.js';
import type { RunningAnswer } from './agent-completions.js';
import {
  CompletionWriter,
  event,
  readRequest,
  refuseUntranslatable,
  translate,
} from './chat-completions.protocol.js';
import type { CompletionRequest, TranslatedCall } from './chat-completions.protocol.js';
import { openAiFailure } from './openai.errors.js';
import { agentIdIn } from './openai.models.js';

/** Why an answer ends before the model has finished it. */
type EndReason = StreamEnd | 'client-left';

class AnswerEnded extends Error {
  override readonly name = 'AbortError';

  constructor(readonly reason: EndReason) {
    super(`The answer was ended: ${reason}.`);
  }
}

/** One request while it is answered. */
class OpenAnswer {
  private readonly abort = new AbortController();
  private writer: SseWriter | undefined;

  constructor(
    readonly caller: Caller,
    readonly request: CompletionRequest,
    private readonly response: Response,
    private readonly pingMs: number,
  ) {
    response.once('close', () => {
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
    if (!this.writer) {
      this.writer = new SseWriter(this.response, this.pingMs);
      this.writer.start({ comment: false });
    }
    if (!this.writer.write(events)) await this.writer.drained(this.signal);
  }

  finish(): void {
    setEnvelopeCode(this.response, 200);
    this.writer?.end();
  }

  answer(json: string): void {
    this.signal.throwIfAborted();
    setEnvelopeCode(this.response, 200);
    this.response.status(200).type('json').send(json);
  }

  /** The last event of an answer that failed: no end mark follows, so that no client takes it for whole. */
  fail(code: number, body: object): void {
    setEnvelopeCode(this.response, code);
    this.writer?.write(event(body));
    this.writer?.end();
  }

  /** The error for the client; undefined when it has left. */
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
      case 'shutdown':
        return new UnavailableError(phrase`Plinth`);
    }
  }
}

/** POST /v1/chat/completions: resolves the model or agent, calls it, and passes its answer on. Nothing is stored. */
@Injectable()
export class ChatCompletions {
  private readonly logger = new Logger(ChatCompletions.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly models: ModelResolver,
    private readonly agents: AgentCompletions,
    private readonly streams: ChatStreams,
    private readonly formats: ResponseFormats,
    private readonly structured: StructuredAnswers,
    private readonly calls: UpstreamCalls,
  ) {}

  /** Rejects with what was wrong before the answer began; later failures are the last event of the stream. */
  async answer(caller: Caller, body: unknown, response: Response): Promise<void> {
    const request = readRequest(body);
    const place = this.streams.reserve(caller);
    const pingMs = this.config.CHAT_PING_SECONDS * 1_000;
    const open = new OpenAnswer(caller, request, response, pingMs);
    try {
      await this.run(open, place);
    } finally {
      this.streams.release(place);
    }
  }

  private async run(open: OpenAnswer, place: StreamPlace): Promise<void> {
    place.onEnd((why) => open.end(why));
    try {
      await this.write(open);
    } catch (error) {
      const shown = open.errorFor(error);
      if (shown === undefined) return;
      if (!open.hasBegun) throw shown;
      this.fail(open, shown);
    }
  }

  private async write(open: OpenAnswer): Promise<void> {
    const { caller, request } = open;
    const agentId = agentIdIn(request.model);
    if (agentId !== undefined) {
      const answer = await this.agents.answer(caller, agentId, translate(request), open.signal);
      await this.writeParts(open, answer, true);
      return;
    }
    const model = await this.models.resolveChat(caller, request.model);
    const protocol = model.adapter.protocol(model.connection.address);
    if (protocol !== 'chat-completions') {
      const call = translate(request);
      refuseUntranslatable(call, protocol);
      await this.writeParts(open, await this.translated(open, model, call), false);
    } else if (request.stream) await this.relayStream(open, model);
    else await this.relay(open, model);
  }

  /** Passes the service's own events on. */
  private async relayStream(open: OpenAnswer, first: ResolvedChatModel): Promise<void> {
    const { body, withUsage } = open.request;
    const options = { ...this.optionsOf(open), withUsage };
    for await (const { bytes, parts } of this.calls.relayStream(first, body, options)) {
      if (bytes) await open.write(bytes);
      else await this.writeWhole(open, parts);
    }
    open.finish();
  }

  /** Of a service that was asked to stream and does not. */
  private async writeWhole(open: OpenAnswer, parts: readonly ChatPart[]): Promise<void> {
    const writer = new CompletionWriter(open.request, false);
    const content = JSON.stringify(open.request.body['messages']);
    await open.write(writer.add(parts) + writer.end({ sent: [{ role: 'user', content }] }));
  }

  private async relay(open: OpenAnswer, first: ResolvedChatModel): Promise<void> {
    open.answer(await this.calls.relay(first, open.request.body, this.optionsOf(open)));
  }

  /** The answer of a model of another protocol. */
  private async translated(
    open: OpenAnswer,
    model: ResolvedChatModel,
    { format: given, ...call }: TranslatedCall,
  ): Promise<RunningAnswer> {
    const format = given && (await this.formats.read(given));
    const { messages } = call;
    const parts = (more: readonly ChatMessage[]): AsyncIterable<readonly ChatPart[]> =>
      this.parts(open, model, {
        ...call,
        messages: [...messages, ...more],
        format: format ?? undefined,
      });
    const answer = format
      ? this.structured.read({ format, first: parts([]), correct: parts })
      : parts([]);
    return { parts: answer, context: () => ({ sent: messages }) };
  }

  private parts(
    open: OpenAnswer,
    first: ResolvedChatModel,
    { format, ...call }: Omit<TranslatedCall, 'format'> & { format: ResponseFormat | undefined },
  ): AsyncIterable<readonly ChatPart[]> {
    const callOf = ({ maxOutput }: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      const maxTokens = call.maxTokens ?? maxOutput;
      return {
        ...call,
        ...(maxTokens !== undefined && { maxTokens }),
        ...(format && { responseFormat: format }),
      };
    };
    return this.calls.stream(first, callOf, this.optionsOf(open));
  }

  private optionsOf({ caller, signal }: OpenAnswer): CallOptions<ResolvedChatModel> {
    const { attempts, ...limits } = turnLimits(this.config);
    return { use: { caller, feature: 'chat' }, limits, signal, attempts };
  }

  private async writeParts(
    open: OpenAnswer,
    { parts, context }: RunningAnswer,
    isAgent: boolean,
  ): Promise<void> {
    const { request, signal } = open;
    const writer = new CompletionWriter(request, isAgent);
    for await (const some of parts) {
      signal.throwIfAborted();
      const events = writer.add(some);
      if (request.stream) await open.write(events);
    }
    signal.throwIfAborted();
    if (request.stream) {
      await open.write(writer.end(context()));
      open.finish();
    } else open.answer(JSON.stringify(writer.completion(context())));
  }

  private fail(open: OpenAnswer, error: unknown): void {
    const known = error instanceof DomainError ? error : unavailableError(error);
    if (!known) this.logger.error({ msg: 'Unhandled error in a completion', err: error });
    const code = known?.code ?? 500;
    const message = localized(known?.message ?? unexpectedMessage(currentRequest()?.id));
    open.fail(code, openAiFailure({ code, message, error: known }).body);
  }
}
