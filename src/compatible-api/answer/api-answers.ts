import { Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller, StreamPlace } from '../../platform/access/index.js';
import { domainErrorOf } from '../../platform/database/index.js';
import { DomainError, unexpectedMessage } from '../../platform/error/index.js';
import type { Failure } from '../../platform/error/index.js';
import { currentRequest, localized } from '../../platform/http/index.js';
import { ATTRIBUTE, OPERATION, traced } from '../../platform/tracing/index.js';
import { ResponseFormats } from '../../agent/index.js';
import type { TurnPart } from '../../agent/index.js';
import { CHAT_PING, ChatStreams, StructuredAnswers } from '../../chat/index.js';
import { CHAT_LIMITS, ModelResolver, UpstreamCalls } from '../../model/index.js';
import type { CallOptions, RelaySettings, ResolvedChatModel } from '../../model/index.js';
import { partsOf } from '../../provider/index.js';
import type { ChatCall, ChatMessage, ChatPart, ResponseFormat } from '../../provider/index.js';
import { AgentAnswers } from './agent-answers.js';
import type { RunningAnswer } from './agent-answers.js';
import { Answer, HttpAnswer } from './answer.js';
import type { StreamableRequest } from './answer.js';
import { UnsupportedParameterError } from './api.errors.js';
import { agentIdIn } from './parameters.js';
import { RequestFiles, filesOf, withTexts } from './request-files.js';
import { noteIgnored, withParameter } from './api.request.js';
import type {
  AnswerContext,
  AnswerWriter,
  ApiRequest,
  EmulatedChoice,
  ReadCall,
  RelayedRequest,
} from './api.request.js';
import { withChoice } from './tool-choice.js';

/**
 * Answers requests in the protocols of model services. Requests for an agent go to AgentAnswers. A model that speaks the
 * client's protocol is relayed; any other model is called through its adapter. The answer is written as a stream or as one body.
 */
@Injectable()
export class ApiAnswers {
  private readonly logger = new Logger(ApiAnswers.name);

  constructor(
    private readonly models: ModelResolver,
    private readonly agents: AgentAnswers,
    private readonly streams: ChatStreams,
    private readonly formats: ResponseFormats,
    private readonly structured: StructuredAnswers,
    private readonly calls: UpstreamCalls,
    private readonly files: RequestFiles,
  ) {}

  /** Rejects with failures before the answer began; later failures become the last event of the stream. */
  async answer(caller: Caller, request: ApiRequest, response: Response): Promise<void> {
    await this.respond(caller, request, response, async (answer) => {
      try {
        await this.write(answer);
      } catch (error) {
        throw withParameter(error, request.names);
      }
    });
  }

  /** Runs `write` as an answer that counts as open, and ends with the sign-in or key of its caller. Fails like `answer`. */
  async respond<Request extends StreamableRequest>(
    caller: Caller,
    request: Request,
    response: Response,
    write: (answer: HttpAnswer<Request>) => Promise<void>,
  ): Promise<void> {
    const place = this.streams.reserve(caller);
    const answer = new HttpAnswer(caller, request, response, CHAT_PING.intervalMs);
    try {
      endWithPlace(answer, place);
      await write(answer);
    } catch (error) {
      const clientError = answer.errorFor(error);
      if (clientError === undefined) return;
      if (!answer.hasBegun) {
        answer.setHeaders();
        throw clientError;
      }
      const failure = this.failureOf(clientError);
      answer.fail(failure.code, request.failureEvent(failure));
    } finally {
      this.streams.release(place);
    }
  }

  /**
   * The answer to a request for which no client waits: it takes a place like any other, until it has run or is released.
   * `onEvents` takes the events of a stream. Throws TooManyStreamsError.
   */
  detached(
    caller: Caller,
    request: ApiRequest,
    onEvents: (events: string | Buffer) => Promise<void>,
  ): DetachedRun {
    const place = this.streams.reserve(caller);
    const answer = new Answer(caller, request, onEvents);
    endWithPlace(answer, place);
    const release = (): void => this.streams.release(place);
    const run = async (): Promise<Failure | undefined> => {
      try {
        await this.whole(answer);
        return undefined;
      } catch (error) {
        return this.failureOf(error);
      } finally {
        release();
      }
    };
    return { run, end: () => answer.end('client-left'), release };
  }

  /** The answer as one body, for work with its own slot. Rejects with the error for the client. */
  async whole(answer: Answer<ApiRequest>): Promise<string> {
    try {
      await this.write(answer);
      return answer.body;
    } catch (error) {
      throw answer.errorFor(withParameter(error, answer.request.names)) ?? error;
    }
  }

  private async write(answer: Answer<ApiRequest>): Promise<void> {
    const { caller, request, ignored, signal } = answer;
    const agentId = agentIdIn(request.model);
    const output = new AnswerOutput(answer, agentId !== undefined);
    if (agentId !== undefined) {
      const attributes = () => ({
        [ATTRIBUTE.operation]: OPERATION.invokeAgent,
        [ATTRIBUTE.agentId]: String(agentId),
        [ATTRIBUTE.tenantId]: caller.tenantId,
        [ATTRIBUTE.userId]: String(caller.userId),
      });
      await traced(OPERATION.invokeAgent, { attributes }, async () =>
        writeParts(await this.agents.answer(caller, agentId, request, answer), output),
      );
      return;
    }
    const model = await this.models.resolveChat(caller, request.model);
    answer.mayGoOn = (now) => this.models.mayUse(now, model.id);
    const { relay } = request;
    if (relay && model.adapter.canRelay(model.connection.address, relay.protocol)) {
      if (request.stream) await this.relayStream(answer, model, relay, output);
      else await this.relay(answer, model, relay, output);
      return;
    }
    const call = await this.files.read(caller, request.translate(ignored), signal);
    await writeParts(await this.translated(answer, model, call), output);
  }

  /**
   * Passes the service's own events on. A service that does not stream and a fallback of another protocol have parts alone. JSON
   * of a schema that such a fallback writes is read whole and checked.
   */
  private async relayStream(
    answer: Answer<ApiRequest>,
    first: ResolvedChatModel,
    { withUsage, headers, keep }: RelayedRequest,
    output: AnswerOutput,
  ): Promise<void> {
    const { request } = answer;
    const options = { ...this.relayOptionsOf(answer), withUsage, headers };
    let fallback: { readonly model: ResolvedChatModel; readonly call: ReadCall } | undefined;
    const unchecked: (readonly ChatPart[])[] = [];
    const pieces = this.calls.relayStream(first, request.body, options);
    for await (const { bytes, parts, translatedBy } of pieces) {
      if (translatedBy) fallback ??= { model: translatedBy, call: translationFor(answer) };
      if (bytes && keep && parts.some(({ type }) => type === 'finish')) {
        await keep(bytes.toString());
      }
      if (!bytes && fallback?.call.format) unchecked.push(parts);
      else await output.add(parts, bytes);
    }
    if (fallback?.call.format) {
      const { model, call } = fallback;
      await writeParts(await this.translated(answer, model, call, unchecked), output);
    } else await output.end(() => contextOf(request));
  }

  private async relay(
    answer: Answer<ApiRequest>,
    first: ResolvedChatModel,
    { headers, keep }: RelayedRequest,
    output: AnswerOutput,
  ): Promise<void> {
    const { request } = answer;
    const options = { ...this.relayOptionsOf(answer), headers };
    const relayed = await this.calls.relay(first, request.body, options);
    if (typeof relayed === 'string') {
      await keep?.(relayed);
      await output.add([], relayed);
      await output.end(() => contextOf(request));
      return;
    }
    const { completion, translatedBy } = relayed;
    const parts = [partsOf(completion)];
    const call = translationFor(answer);
    await writeParts(await this.translated(answer, translatedBy, call, parts), output);
  }

  /** Translates the answer of a model with another protocol; `answered` is the output of a fallback. */
  private async translated(
    answer: Answer<ApiRequest>,
    model: ResolvedChatModel,
    { format: requested, ...call }: ReadCall,
    answered?: readonly (readonly ChatPart[])[],
  ): Promise<RunningAnswer> {
    const emulated = noteLeftOut(model, call, answer);
    const format = requested && (await this.formats.read(answer.caller, requested));
    const { messages } = call;
    const parts = (more: readonly ChatMessage[]): AsyncIterable<readonly ChatPart[]> =>
      this.parts(
        answer,
        model,
        { ...call, messages: [...messages, ...more], format: format ?? undefined },
        { withoutFallbacks: answered !== undefined },
      );
    const first = answered ? toAsyncIterable(answered) : parts([]);
    const checked = format
      ? this.structured.read({
          caller: answer.caller,
          signal: answer.signal,
          format,
          first,
          correct: parts,
          passesUnfinished: true,
        })
      : first;
    const chosen = withChoice(checked, emulated, {
      ask: parts,
      onMissing: () => answer.ignored.addOfModel('tool_choice'),
    });
    return { parts: chosen, context: () => ({ messages }) };
  }

  private parts(
    answer: Answer<ApiRequest>,
    first: ResolvedChatModel,
    { format, ...call }: Omit<ReadCall, 'format'> & { format: ResponseFormat | undefined },
    options: Pick<CallOptions<ResolvedChatModel>, 'withoutFallbacks'>,
  ): AsyncIterable<readonly ChatPart[]> {
    const callOf = (model: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      noteLeftOut(model, call, answer);
      return callFor(model, call, format);
    };
    return this.calls.stream(first, callOf, { ...this.optionsOf(answer), ...options });
  }

  /** Skips fallbacks of another protocol that do not support the request. */
  private relayOptionsOf(
    answer: Answer<ApiRequest>,
  ): CallOptions<ResolvedChatModel> & Pick<RelaySettings, 'translated'> {
    const translated = (model: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      const { format: requested, ...call } = translationFor(answer);
      noteLeftOut(model, call, answer);
      const format = requested && this.formats.unchecked(requested);
      return callFor(model, call, format);
    };
    return { ...this.optionsOf(answer), translated };
  }

  private optionsOf({ caller, signal, trail }: Answer<ApiRequest>): CallOptions<ResolvedChatModel> {
    const { attempts, ...limits } = CHAT_LIMITS;
    return { use: { caller, feature: 'chat', trail }, limits, signal, attempts, isResolved: true };
  }

  /** The failure for the client. Logs errors not caused by the request, or by a client that has left. */
  failureOf(error: unknown): Failure {
    const domainError = error instanceof DomainError ? error : domainErrorOf(error);
    const isEnded = error instanceof Error && error.name === 'AbortError';
    if (!domainError && !isEnded) {
      this.logger.error({ msg: 'Unhandled error in an answer', err: error });
    }
    const code = domainError?.code ?? 500;
    const message = localized(domainError?.userMessage ?? unexpectedMessage(currentRequest()?.id));
    return { code, message, error: domainError };
  }
}

/** Ends the answer with the sign-in or key of its caller, and with their right to use what answers. */
function endWithPlace(answer: Answer<StreamableRequest>, place: StreamPlace): void {
  place.onEnd((why) => answer.end(why));
  place.mayGoOn = async (now) => (await answer.mayGoOn?.(now)) ?? true;
}

/** A background answer. */
export interface DetachedRun {
  /** Resolves with the failure if there is no answer. */
  run(): Promise<Failure | undefined>;
  end(): void;
  /** Releases the slot when `run` is not called. */
  release(): void;
}

/** Receives one answer in pieces and writes it to the client, as a stream or as one body. */
class AnswerOutput {
  private writer: AnswerWriter | undefined;
  /** Body of a service that speaks the protocol of the client; empty for a stream. */
  private relayed: string | undefined;

  constructor(
    private readonly answer: Answer<ApiRequest>,
    private readonly isAgent: boolean,
  ) {
    // A whole answer was created when its request came.
    if (!answer.request.stream) this.ownWriter();
  }

  /** `bytes` of a service that speaks the protocol of the client are passed on in place of the parts. */
  async add(parts: readonly TurnPart[], bytes?: string | Buffer): Promise<void> {
    const { answer } = this;
    if (answer.request.stream) {
      if (bytes !== undefined) this.relayed = '';
      await answer.write(bytes ?? this.ownWriter().add(parts));
      return;
    }
    answer.signal.throwIfAborted();
    if (bytes === undefined) this.ownWriter().add(parts);
    else this.relayed = bytes.toString();
  }

  /** Ends the answer. Rejects if it is incomplete. */
  async end(context: () => AnswerContext): Promise<void> {
    const { answer } = this;
    answer.signal.throwIfAborted();
    if (!answer.request.stream) {
      answer.send(this.relayed ?? JSON.stringify(await this.ownWriter().whole(context())));
      return;
    }
    if (this.relayed === undefined) await answer.write(await this.ownWriter().end(context()));
    answer.finish();
  }

  private ownWriter(): AnswerWriter {
    this.writer ??= this.answer.request.writer(this.isAgent);
    return this.writer;
  }
}

async function writeParts({ parts, context }: RunningAnswer, output: AnswerOutput): Promise<void> {
  for await (const some of parts) await output.add(some);
  await output.end(context);
}

/** Notes parameters that the called model ignores. Throws if the model or key is strict, so that a fallback is skipped. */
function noteLeftOut(
  model: ResolvedChatModel,
  call: Omit<ReadCall, 'format'>,
  { request, ignored }: Answer<ApiRequest>,
): EmulatedChoice {
  ignored.beginModel(model);
  return noteIgnored(call, model, request.names, ignored);
}

/**
 * The call for a fallback of another protocol than that of a relayed request. Files would have to be read before it is known
 * whether there is such a fallback: UnsupportedParameterError names the first, and the fallback is passed over.
 */
function translationFor({ request, ignored }: Answer<ApiRequest>): ReadCall {
  const call = request.translate(ignored);
  const file = call.messages.flatMap(filesOf)[0];
  if (file) throw new UnsupportedParameterError(file.param);
  return withTexts(call, new Map());
}

/**
 * The call with the most that the model may write, where the client names no limit. An answer that reaches it in a tool call
 * ends without that call: the client looks at the reason of its end.
 */
function callFor(
  { maxOutput }: ResolvedChatModel,
  call: Omit<ReadCall, 'format'>,
  format: ResponseFormat | null | undefined,
): Omit<ChatCall, 'model'> {
  const maxTokens = call.maxTokens ?? maxOutput;
  return {
    ...call,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(format && { responseFormat: format }),
    omittedCalls: 'cut',
  };
}

async function* toAsyncIterable<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

/** Context of a relayed request, whose messages are not parsed. */
function contextOf({ body }: ApiRequest): AnswerContext {
  return { messages: [{ role: 'user', content: JSON.stringify(body['messages']) }] };
}
