import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller, StreamPlace } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { unavailableError } from '../../platform/database/index.js';
import { DomainError, unexpectedMessage } from '../../platform/error/index.js';
import { currentRequest, localized } from '../../platform/http/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { ResponseFormats } from '../../agent/index.js';
import { ChatStreams, StructuredAnswers, turnLimits } from '../../chat/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { retryBeforeFirstPart, retryCall, UpstreamError } from '../../provider/index.js';
import type { ChatMessage, ChatPart, ResponseFormat } from '../../provider/index.js';
import { AgentAnswers, agentIdIn } from './agent-answers.js';
import type { RunningAnswer } from './agent-answers.js';
import { refuseUntranslatable } from './door.request.js';
import type { DoorRequest, RelayedRequest, TranslatedCall } from './door.request.js';
import { OpenAnswer } from './open-answer.js';

/**
 * Answers requests in the protocols of model services: resolves the model or agent, calls it, and passes its answer on. A model
 * that speaks the protocol of the client is relayed, any other one is called in the words of the adapters.
 */
@Injectable()
export class DoorAnswers {
  private readonly logger = new Logger(DoorAnswers.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly models: ModelResolver,
    private readonly agents: AgentAnswers,
    private readonly streams: ChatStreams,
    private readonly formats: ResponseFormats,
    private readonly structured: StructuredAnswers,
    private readonly metrics: Metrics,
  ) {}

  /** Rejects with what was wrong before the answer began; later failures are the last event of the stream. */
  async answer(caller: Caller, request: DoorRequest, response: Response): Promise<void> {
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
      this.count(open, 'ok');
    } catch (error) {
      const isAborted = open.signal.aborted;
      this.count(open, isAborted ? 'aborted' : outcomeOf(error));
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
      const answer = await this.agents.answer(caller, agentId, request, open.signal);
      await this.writeParts(open, answer, true);
      return;
    }
    const model = await this.models.resolveChat(caller, request.model);
    open.model = model;
    const { adapter, connection } = model;
    const { relay } = request;
    if (relay && adapter.canRelay(connection.address, relay.protocol)) {
      if (request.stream) await this.relayStream(open, model, relay);
      else await this.relay(open, model, relay);
      return;
    }
    const call = request.translate();
    refuseUntranslatable(call, adapter.protocol(connection.address), request.names);
    await this.writeParts(open, await this.translated(open, model, call), false);
  }

  /** Passes the service's own events on. */
  private async relayStream(
    open: OpenAnswer,
    first: ResolvedChatModel,
    { withUsage, headers }: RelayedRequest,
  ): Promise<void> {
    const { request, signal } = open;
    const { attempts, ...limits } = turnLimits(this.config);
    const reads = retryBeforeFirstPart(
      async () => {
        const { adapter, modelName, connection } = await this.models.current(first);
        const body = { ...request.body, model: modelName };
        return adapter.relayStream(body, connection, { limits, signal, withUsage, headers });
      },
      { attempts, signal },
    );
    for await (const { bytes, parts } of reads) {
      open.meter(parts);
      if (bytes) await open.write(bytes);
      else await this.writeWhole(open, parts);
    }
    open.finish();
  }

  /** Of a service that was asked to stream and does not. */
  private async writeWhole(open: OpenAnswer, parts: readonly ChatPart[]): Promise<void> {
    const writer = open.request.writer(false);
    const content = JSON.stringify(open.request.body['messages']);
    const sent = [{ role: 'user', content } as const];
    await open.write(writer.add(parts) + (await writer.end({ sent })));
  }

  private async relay(
    open: OpenAnswer,
    first: ResolvedChatModel,
    { headers }: RelayedRequest,
  ): Promise<void> {
    const { request, signal } = open;
    const { attempts, ...limits } = turnLimits(this.config);
    const { text } = await retryCall(
      async () => {
        const { adapter, modelName, connection } = await this.models.current(first);
        const body = { ...request.body, model: modelName };
        return adapter.relay(body, connection, { limits, signal, headers });
      },
      { attempts, signal },
    );
    open.answer(text);
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
    return { model, parts: answer, context: () => ({ sent: messages }) };
  }

  private parts(
    { signal }: OpenAnswer,
    first: ResolvedChatModel,
    { format, ...call }: Omit<TranslatedCall, 'format'> & { format: ResponseFormat | undefined },
  ): AsyncIterable<readonly ChatPart[]> {
    const { attempts, ...limits } = turnLimits(this.config);
    return retryBeforeFirstPart(
      async () => {
        const { adapter, modelName, connection, maxOutput } = await this.models.current(first);
        const maxTokens = call.maxTokens ?? maxOutput;
        const asked = {
          ...call,
          model: modelName,
          ...(maxTokens !== undefined && { maxTokens }),
          ...(format && { responseFormat: format }),
        };
        return adapter.stream(asked, connection, { limits, signal });
      },
      { attempts, signal },
    );
  }

  private async writeParts(
    open: OpenAnswer,
    { model, parts, context }: RunningAnswer,
    isAgent: boolean,
  ): Promise<void> {
    open.model = model;
    const { request, signal } = open;
    const writer = request.writer(isAgent);
    for await (const some of parts) {
      signal.throwIfAborted();
      open.meter(some);
      const events = writer.add(some);
      if (request.stream) await open.write(events);
    }
    signal.throwIfAborted();
    if (request.stream) {
      await open.write(await writer.end(context()));
      open.finish();
    } else open.answer(JSON.stringify(await writer.whole(context())));
  }

  private fail(open: OpenAnswer, error: unknown): void {
    const known = error instanceof DomainError ? error : unavailableError(error);
    if (!known) this.logger.error({ msg: 'Unhandled error in an answer', err: error });
    const code = known?.code ?? 500;
    const message = localized(known?.message ?? unexpectedMessage(currentRequest()?.id));
    open.fail(code, open.request.failureEvent({ code, message, error: known }));
  }

  private count({ model, seconds, firstTokenSeconds }: OpenAnswer, outcome: string): void {
    if (!model) return;
    const { providerCode: provider } = model;
    this.metrics.upstreamCall({ provider, kind: 'chat', outcome, seconds });
    if (firstTokenSeconds !== undefined) this.metrics.firstToken(provider, firstTokenSeconds);
  }
}

function outcomeOf(error: unknown): string {
  return error instanceof UpstreamError ? error.kind : 'error';
}
