import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { unavailableError } from '../../platform/database/index.js';
import { DomainError, unexpectedMessage } from '../../platform/error/index.js';
import type { Failure } from '../../platform/error/index.js';
import { currentRequest, localized } from '../../platform/http/index.js';
import { ResponseFormats } from '../../agent/index.js';
import { ChatStreams, StructuredAnswers, turnLimits } from '../../chat/index.js';
import { ModelResolver, UpstreamCalls } from '../../model/index.js';
import type { CallOptions, RelaySettings, ResolvedChatModel } from '../../model/index.js';
import { partsOf } from '../../provider/index.js';
import type { ChatCall, ChatMessage, ChatPart, ResponseFormat } from '../../provider/index.js';
import { AgentAnswers, agentIdIn } from './agent-answers.js';
import type { RunningAnswer } from './agent-answers.js';
import { UnsupportedParameterError } from './api.errors.js';
import { RequestFiles, filesOf, withTexts } from './request-files.js';
import { noteIgnored, withParameter } from './api.request.js';
import type {
  AnswerContext,
  AnswerWriter,
  ApiRequest,
  EmulatedChoice,
  HeldRequest,
  ReadCall,
  RelayedRequest,
} from './api.request.js';
import { withChoice } from './emulated-choice.js';
import { DetachedAnswer, OpenAnswer } from './open-answer.js';
import type { CallInProgress } from './open-answer.js';

/**
 * Answers requests in the protocols of model services: resolves the model or agent, calls it, and passes its answer on. A model
 * that speaks the protocol of the client is relayed, any other one is called in the words of the adapters.
 */
@Injectable()
export class ApiAnswers {
  private readonly logger = new Logger(ApiAnswers.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly models: ModelResolver,
    private readonly agents: AgentAnswers,
    private readonly streams: ChatStreams,
    private readonly formats: ResponseFormats,
    private readonly structured: StructuredAnswers,
    private readonly calls: UpstreamCalls,
    private readonly files: RequestFiles,
  ) {}

  /** Rejects with what was wrong before the answer began; later failures are the last event of the stream. */
  async answer(caller: Caller, request: ApiRequest, response: Response): Promise<void> {
    await this.hold(caller, request, response, async (open) => {
      try {
        await this.write(open);
      } catch (error) {
        throw withParameter(error, request.names);
      }
    });
  }

  /** Runs `write` as an answer that counts as open, and ends with the sign-in or key of its caller. Fails like `answer`. */
  async hold<Asked extends HeldRequest>(
    caller: Caller,
    request: Asked,
    response: Response,
    write: (open: OpenAnswer<Asked>) => Promise<void>,
  ): Promise<void> {
    const place = this.streams.reserve(caller);
    const pingMs = this.config.CHAT_PING_SECONDS * 1_000;
    const open = new OpenAnswer(caller, request, response, pingMs);
    try {
      place.onEnd((why) => open.end(why));
      await this.run(open, write);
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
    const open = new DetachedAnswer(caller, request, onEvents);
    place.onEnd((why) => open.end(why));
    const release = (): void => this.streams.release(place);
    const run = async (): Promise<Failure | undefined> => {
      try {
        await this.whole(open);
        return undefined;
      } catch (error) {
        return this.failureOf(error);
      } finally {
        release();
      }
    };
    return { run, end: () => open.end('client-left'), release };
  }

  /** The answer in one piece, for work that has a place of its own. Rejects with what is shown to the client. */
  async whole(open: DetachedAnswer): Promise<string> {
    try {
      await this.write(open);
      return open.json ?? '';
    } catch (error) {
      throw open.errorFor(withParameter(error, open.request.names)) ?? error;
    }
  }

  private async run<Asked extends HeldRequest>(
    open: OpenAnswer<Asked>,
    write: (open: OpenAnswer<Asked>) => Promise<void>,
  ): Promise<void> {
    try {
      await write(open);
    } catch (error) {
      const shown = open.errorFor(error);
      if (shown === undefined) return;
      if (!open.hasBegun) {
        open.name();
        throw shown;
      }
      this.fail(open, shown);
    }
  }

  private async write(open: CallInProgress): Promise<void> {
    const { caller, request } = open;
    const agentId = agentIdIn(request.model);
    if (agentId !== undefined) {
      const answer = await this.agents.answer(caller, agentId, request, open);
      await this.writeParts(open, answer, true);
      return;
    }
    const model = await this.models.resolveChat(caller, request.model);
    const { adapter, connection } = model;
    const { relay } = request;
    if (relay && adapter.canRelay(connection.address, relay.protocol)) {
      if (request.stream) await this.relayStream(open, model, relay);
      else await this.relay(open, model, relay);
      return;
    }
    const call = await this.files.read(caller, request.translate(open.ignored), open.signal);
    await this.writeParts(open, await this.translated(open, model, call), false);
  }

  /**
   * Passes the service's own events on. A service that does not stream and a fallback of another protocol have parts alone. JSON
   * of a schema that such a fallback writes is read whole and checked.
   */
  private async relayStream(
    open: CallInProgress,
    first: ResolvedChatModel,
    { withUsage, headers, keep }: RelayedRequest,
  ): Promise<void> {
    const { request } = open;
    const options = { ...this.relayOptionsOf(open), withUsage, headers };
    let writer: AnswerWriter | undefined;
    let fallback: { readonly model: ResolvedChatModel; readonly call: ReadCall } | undefined;
    const held: (readonly ChatPart[])[] = [];
    const reads = this.calls.relayStream(first, request.body, options);
    for await (const { bytes, parts, translatedBy } of reads) {
      if (translatedBy) fallback ??= { model: translatedBy, call: translationFor(open) };
      if (bytes && keep && parts.some(({ type }) => type === 'finish')) {
        await keep(bytes.toString());
      }
      if (bytes) await open.write(bytes);
      else if (fallback?.call.format) held.push(parts);
      else await open.write((writer ??= request.writer(false)).add(parts));
    }
    if (fallback?.call.format) {
      const { model, call } = fallback;
      await this.writeParts(open, await this.translated(open, model, call, held), false);
      return;
    }
    if (writer) await open.write(await writer.end(contextOf(request)));
    open.finish();
  }

  private async relay(
    open: CallInProgress,
    first: ResolvedChatModel,
    { headers, keep }: RelayedRequest,
  ): Promise<void> {
    const options = { ...this.relayOptionsOf(open), headers };
    const answer = await this.calls.relay(first, open.request.body, options);
    if (typeof answer === 'string') {
      await keep?.(answer);
      open.answer(answer);
      return;
    }
    const { completion, translatedBy } = answer;
    const parts = [partsOf(completion)];
    const call = translationFor(open);
    await this.writeParts(open, await this.translated(open, translatedBy, call, parts), false);
  }

  /** The answer of a model of another protocol, of which a fallback has written `answered`. */
  private async translated(
    open: CallInProgress,
    model: ResolvedChatModel,
    { format: given, ...call }: ReadCall,
    answered?: readonly (readonly ChatPart[])[],
  ): Promise<RunningAnswer> {
    const emulated = noted(model, call, open);
    const format = given && (await this.formats.read(open.caller, given));
    const { messages } = call;
    const parts = (more: readonly ChatMessage[]): AsyncIterable<readonly ChatPart[]> =>
      this.parts(
        open,
        model,
        { ...call, messages: [...messages, ...more], format: format ?? undefined },
        { withoutFallbacks: answered !== undefined },
      );
    const first = answered ? inOrder(answered) : parts([]);
    const answer = format
      ? this.structured.read({
          caller: open.caller,
          signal: open.signal,
          format,
          first,
          correct: parts,
          passesUnfinished: true,
        })
      : first;
    const chosen = withChoice(answer, emulated, {
      ask: parts,
      onMissing: () => open.ignored.addOfModel('tool_choice'),
    });
    return { parts: chosen, context: () => ({ sent: messages }) };
  }

  private parts(
    open: CallInProgress,
    first: ResolvedChatModel,
    { format, ...call }: Omit<ReadCall, 'format'> & { format: ResponseFormat | undefined },
    options: Pick<CallOptions<ResolvedChatModel>, 'withoutFallbacks'>,
  ): AsyncIterable<readonly ChatPart[]> {
    const callOf = (model: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      noted(model, call, open);
      return callFor(model, call, format);
    };
    return this.calls.stream(first, callOf, { ...this.optionsOf(open), ...options });
  }

  /** A fallback of another protocol is passed over where it cannot honour the request. */
  private relayOptionsOf(
    open: CallInProgress,
  ): CallOptions<ResolvedChatModel> & Pick<RelaySettings, 'translated'> {
    const translated = (model: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      const { format: given, ...call } = translationFor(open);
      noted(model, call, open);
      const format = given && this.formats.unchecked(given);
      return callFor(model, call, format);
    };
    return { ...this.optionsOf(open), translated };
  }

  private optionsOf({ caller, signal, trail }: CallInProgress): CallOptions<ResolvedChatModel> {
    const { attempts, ...limits } = turnLimits(this.config);
    return { use: { caller, feature: 'chat', trail }, limits, signal, attempts, isResolved: true };
  }

  private async writeParts(
    open: CallInProgress,
    { parts, context }: RunningAnswer,
    isAgent: boolean,
  ): Promise<void> {
    const { request, signal } = open;
    const writer = request.writer(isAgent);
    for await (const some of parts) {
      signal.throwIfAborted();
      const events = writer.add(some);
      if (request.stream) await open.write(events);
    }
    signal.throwIfAborted();
    if (request.stream) {
      await open.write(await writer.end(context()));
      open.finish();
    } else open.answer(JSON.stringify(await writer.whole(context())));
  }

  private fail(open: OpenAnswer<HeldRequest>, error: unknown): void {
    const failure = this.failureOf(error);
    open.fail(failure.code, open.request.failureEvent(failure));
  }

  /** What a client is told of it. Logs what is no failure of its request. */
  failureOf(error: unknown): Failure {
    const known = error instanceof DomainError ? error : unavailableError(error);
    if (!known) this.logger.error({ msg: 'Unhandled error in an answer', err: error });
    const code = known?.code ?? 500;
    const message = localized(known?.message ?? unexpectedMessage(currentRequest()?.id));
    return { code, message, error: known };
  }
}

/** An answer in the background. */
export interface DetachedRun {
  /** Resolves with the failure, where there is no answer. */
  run(): Promise<Failure | undefined>;
  end(): void;
  /** Instead of `run`. */
  release(): void;
}

/** Notes what the model that is called leaves out. Throws where it or the key is strict, so that a fallback is passed over. */
function noted(
  model: ResolvedChatModel,
  call: Omit<ReadCall, 'format'>,
  { request, ignored }: CallInProgress,
): EmulatedChoice {
  ignored.beginModel(model);
  return noteIgnored(call, model, request.names, ignored);
}

/**
 * The call for a fallback of another protocol than that of a relayed request. Files would have to be read before it is known
 * whether there is such a fallback: UnsupportedParameterError names the first, and the fallback is passed over.
 */
function translationFor({ request, ignored }: CallInProgress): ReadCall {
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

async function* inOrder<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

/** What a relayed request was answered from: its messages are not read. */
function contextOf({ body }: ApiRequest): AnswerContext {
  return { sent: [{ role: 'user', content: JSON.stringify(body['messages']) }] };
}
