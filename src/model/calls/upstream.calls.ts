import { Injectable } from '@nestjs/common';
import { isWithinKey } from '../../platform/access/index.js';
import { Metrics } from '../../platform/observability/index.js';
import type { UpstreamKind } from '../../platform/observability/index.js';
import { currentSpan } from '../../platform/tracing/index.js';
import {
  abortedError,
  retryBeforeFirstPart,
  retryCall,
  UpstreamError,
} from '../../provider/index.js';
import type {
  CallLimits,
  ChatCall,
  ChatCompletion,
  ChatPart,
  EmbeddingAnswer,
  EmbeddingCall,
  MediaCallOptions,
  MediaResult,
  ModelCallOptions,
  ModelConnection,
  Moderation,
  ModerationCall,
  OfferedModel,
  RankedDocument,
  RelayedAnswer,
  RelayedBody,
  RelayedRead,
  RelayOptions,
  RerankCall,
  RetryOptions,
  ServiceFindings,
  TokenCount,
  Transcript,
} from '../../provider/index.js';
import { UsageLedger, UsageLimiter } from '../../usage/index.js';
import type { AuxiliaryKind, LimitedCall, MediaUnits, WorstCase } from '../../usage/index.js';
import { findingsOf, ModelFindings } from '../model.findings.js';
import type { ListingAdapter } from '../model.adapters.js';
import { estimateTokens } from '../model-window.js';
import { ModelResolver } from '../model.resolver.js';
import type {
  ResolvedChatModel,
  ResolvedEmbeddingModel,
  ResolvedMediaModel,
  ResolvedModel,
  ResolvedRerankModel,
} from '../model.resolver.js';
import {
  answersIn,
  asksForHour,
  isOutputLimit,
  maxBodyTokens,
  maxInputTokens,
  maxServiceToolCalls,
  maxTextTokens,
  outputLimitIn,
  textsAtMost,
} from '../tokens/worst-case.js';
import { Attempt } from './attempt.js';
import {
  bodyFor,
  callFor,
  CallRoute,
  canAnswer,
  estimateBodyTokens,
  needsOfBody,
  needsOfCall,
  relaysAlike,
  tokensOfCall,
} from './call.route.js';
import type { ModelUse } from './attempt.js';
import { UpstreamHealth } from './upstream.health.js';

/**
 * Limits of a chat's calls of a model. `totalMs` is also the limit of a whole turn, and `attempts` counts the tries of one
 * model before the first part of an answer.
 */
export const CHAT_LIMITS = {
  connectMs: 10_000,
  idleMs: 3 * 60_000,
  totalMs: 30 * 60_000,
  attempts: 3,
};
/** Maximum attempts of one call over all keys and models; those of the model itself are always made. */
const MAX_ATTEMPTS = 10;
/** The time after the idle timeout of chats within which a call may still go on to another key or model. */
const FALLBACK_MS = 60_000;

/** The options of a call and its repeats. */
export interface CallOptions<M extends ResolvedModel> {
  readonly use: ModelUse;
  readonly limits: CallLimits;
  readonly signal: AbortSignal;
  /** Maximum attempts, the first included; 1 when absent. */
  readonly attempts?: number;
  /** See RetryOptions. */
  readonly maxRetryAfterMs?: number;
  /** The model for the next attempt; its record as it is stored by then when absent. */
  readonly current?: () => M | Promise<M>;
  /** The model was resolved for this very call, so it is looked up again for further attempts only. */
  readonly isResolved?: boolean;
  /** Calls only the model itself, for a test of what it can do. */
  readonly withoutFallbacks?: boolean;
  /**
   * Called when nothing of the answer has come, the request is longer than the window of the model, and no fallback is known to have a
   * larger one. The call is made again, with
   * what `callOf` answers by then; what it throws is what the call fails with. Without it, such a call fails.
   */
  readonly overflow?: (error: UpstreamError) => void;
  /** The number of the first attempt, for callers that repeat calls themselves, with one trail; 1 when absent. */
  readonly firstAttempt?: number;
}

/** The further options of a call with one answer. */
interface AnswerOptions<M extends ResolvedModel> extends CallOptions<M> {
  /** Runs each attempt, for calls that wait for their turn. */
  readonly within?: <T>(attempt: () => Promise<T>) => Promise<T>;
}

type CallFactory<M extends ResolvedModel, Call> = (model: M) => Omit<Call, 'model'>;

/** The further options of a relayed call. */
export interface RelaySettings extends Pick<RelayOptions, 'headers' | 'withUsage'> {
  /** The request in the words of the adapters, for a fallback of another protocol. Throws a DomainError for one that cannot honour it. */
  readonly translated: CallFactory<ResolvedChatModel, ChatCall>;
}

/** A read of a relayed stream. */
interface RelayStreamRead extends RelayedRead {
  /** The fallback of another protocol that answers. */
  readonly translatedBy?: ResolvedChatModel;
}

/** The answer of a fallback of another protocol. */
interface TranslatedAnswer {
  readonly completion: ChatCompletion;
  readonly translatedBy: ResolvedChatModel;
}

/** A request that is relayed to the models that speak its protocol, and translated for the others. */
type RelayOrTranslation = { readonly body: RelayedBody } | { readonly call: ChatCall };

/** Whether a fallback can answer what the asked model was to be sent. */
type FallbackFilter<M extends ResolvedModel, Call> = (
  fallback: M,
  requested: M,
  call: Call,
) => boolean;

/** The parts of one call with one answer. */
interface UnaryCall<M extends ResolvedModel, Call, T> {
  readonly kind: UpstreamKind;
  readonly auxiliary?: AuxiliaryKind | undefined;
  readonly callOf: (model: M) => Call;
  readonly suits: FallbackFilter<M, Call>;
  readonly send: (model: M, call: Call, options: ModelCallOptions) => Promise<T>;
  readonly sentTokens: (call: Call) => number;
  readonly worst: (call: Call, model: M) => WorstCase;
  readonly settle: (attempt: Attempt, answer: T) => void;
}

interface StreamCall<M extends ResolvedModel, Call, T> {
  readonly callOf: (model: M) => Call;
  readonly suits: FallbackFilter<M, Call>;
  readonly open: (model: M, call: Call, options: ModelCallOptions) => AsyncIterable<T>;
  readonly sentTokens: (call: Call) => number;
  readonly worst: (call: Call, model: M) => WorstCase;
  readonly partsOf: (read: T) => readonly ChatPart[];
}

/**
 * Every call of a model service goes through here, and nowhere else (test/architecture/upstream-calls.spec.ts): each attempt
 * is counted in the metrics and entered in the usage ledger, however it ends. A CallRoute says to which key and model it goes.
 */
@Injectable()
export class UpstreamCalls {
  constructor(
    private readonly models: ModelResolver,
    private readonly metrics: Metrics,
    private readonly ledger: UsageLedger,
    private readonly limits: UsageLimiter,
    private readonly health: UpstreamHealth,
    private readonly findings: ModelFindings,
  ) {}

  /** Calls ChatAdapter.stream; opened again as retryBeforeFirstPart does. */
  stream(
    first: ResolvedChatModel,
    callOf: CallFactory<ResolvedChatModel, ChatCall>,
    options: CallOptions<ResolvedChatModel>,
  ): AsyncIterable<readonly ChatPart[]> {
    const { use } = options;
    return this.opened(first, options, {
      callOf: (model): ChatCall => this.limited(model, use, callFor(callOf(model), model, first)),
      suits: suitsCall,
      open: ({ adapter, connection }, call, callOptions) =>
        adapter.stream(call, connection, callOptions),
      sentTokens: tokensOfCall,
      worst: worstOfCall,
      partsOf: (parts) => parts,
    });
  }

  /** Calls ChatAdapter.complete. */
  complete(
    first: ResolvedChatModel,
    callOf: CallFactory<ResolvedChatModel, ChatCall>,
    options: AnswerOptions<ResolvedChatModel>,
  ): Promise<ChatCompletion> {
    const { use } = options;
    return this.answered(first, options, {
      kind: 'chat',
      callOf: (model): ChatCall => this.limited(model, use, callFor(callOf(model), model, first)),
      suits: suitsCall,
      send: ({ adapter, connection }, call, callOptions) =>
        adapter.complete(call, connection, callOptions),
      sentTokens: tokensOfCall,
      worst: worstOfCall,
      settle: settleCompletion,
    });
  }

  /** Calls ChatAdapter.relayStream. A fallback of another protocol yields parts only. Opened again as retryBeforeFirstPart does. */
  relayStream(
    first: ResolvedChatModel,
    body: RelayedBody,
    options: CallOptions<ResolvedChatModel> & RelaySettings,
  ): AsyncIterable<RelayStreamRead> {
    const { withUsage, headers } = options;
    return this.opened(first, options, {
      callOf: (model): RelayOrTranslation => this.relayOrTranslation(first, body, options, model),
      suits: suitsRequest,
      open: (model, request, callOptions): AsyncIterable<RelayStreamRead> => {
        const { adapter, connection } = model;
        return 'body' in request
          ? adapter.relayStream(request.body, connection, { ...callOptions, withUsage, headers })
          : withoutBytes(model, adapter.stream(request.call, connection, callOptions));
      },
      sentTokens: tokensOfRequest,
      worst: worstOfRequest,
      partsOf: ({ parts }) => parts,
    });
  }

  /** Calls ChatAdapter.relay and returns the JSON as the service sent it. A fallback of another protocol returns a completion. */
  async relay(
    first: ResolvedChatModel,
    body: RelayedBody,
    options: AnswerOptions<ResolvedChatModel> & RelaySettings,
  ): Promise<string | TranslatedAnswer> {
    const { headers } = options;
    const answer = await this.answered(first, options, {
      kind: 'chat',
      callOf: (model): RelayOrTranslation => this.relayOrTranslation(first, body, options, model),
      suits: suitsRequest,
      send: async (model, request, callOptions): Promise<RelayedAnswer | TranslatedAnswer> => {
        const { adapter, connection } = model;
        if ('body' in request)
          return adapter.relay(request.body, connection, { ...callOptions, headers });
        const completion = await adapter.complete(request.call, connection, callOptions);
        return { completion, translatedBy: model };
      },
      sentTokens: tokensOfRequest,
      worst: worstOfRequest,
      settle: (attempt, answer) => {
        if ('completion' in answer) settleCompletion(attempt, answer.completion);
        else
          attempt.answered(
            answer.usage,
            answer.usage?.outputTokens === undefined ? answer.text : '',
          );
      },
    });
    return 'completion' in answer ? answer : answer.text;
  }

  /** Calls ChatAdapter.relayCount. Uses no tokens. */
  countTokens(
    first: ResolvedChatModel,
    body: RelayedBody,
    options: AnswerOptions<ResolvedChatModel> & Pick<RelayOptions, 'headers'>,
  ): Promise<TokenCount | undefined> {
    const { headers } = options;
    return this.answered(first, options, {
      kind: 'chat',
      auxiliary: 'count',
      callOf: (model): RelayedBody => bodyFor(body, model, first),
      // Services of other protocols do not count.
      suits: (fallback, requested, request) =>
        relaysAlike(fallback, requested) && suitsBody(fallback, request),
      send: ({ adapter, connection }, request, callOptions) =>
        adapter.relayCount(request, connection, { ...callOptions, headers }),
      sentTokens: () => 0,
      worst: () => NO_TOKENS,
      settle: (attempt) => attempt.answered({ inputTokens: 0, outputTokens: 0, raw: undefined }),
    });
  }

  /** Calls EmbeddingAdapter.embed. */
  embed(
    first: ResolvedEmbeddingModel,
    callOf: CallFactory<ResolvedEmbeddingModel, EmbeddingCall>,
    options: AnswerOptions<ResolvedEmbeddingModel>,
  ): Promise<EmbeddingAnswer> {
    return this.answered(first, options, {
      kind: 'embedding',
      callOf: (model): EmbeddingCall => ({ ...callOf(model), model: model.modelName }),
      // Vectors of different models cannot be compared.
      suits: (fallback, requested) =>
        fallback.modelName === requested.modelName &&
        fallback.modelDimension === requested.modelDimension,
      send: ({ adapter, connection }, call, callOptions) =>
        adapter.embed(call, connection, callOptions),
      sentTokens: ({ inputs }) => tokensOfTexts(inputs),
      worst: ({ inputs }) => ({ ...NO_TOKENS, inputTokens: textsAtMost(inputs) }),
      settle: (attempt, { usage }) => attempt.answered(usage),
    });
  }

  /** Calls RerankAdapter.rerank. */
  async rerank(
    first: ResolvedRerankModel,
    call: Omit<RerankCall, 'model'>,
    options: AnswerOptions<ResolvedRerankModel>,
  ): Promise<readonly RankedDocument[]> {
    const { ranked } = await this.answered(first, options, {
      kind: 'rerank',
      callOf: ({ modelName }): RerankCall => ({ ...call, model: modelName }),
      suits: () => true,
      send: ({ adapter, connection }, request, callOptions) =>
        adapter.rerank(request, connection, callOptions),
      // The query is read with each document.
      sentTokens: ({ query, documents }) =>
        documents.length * estimateTokens(query) + tokensOfTexts(documents),
      worst: ({ query, documents }) => ({
        ...NO_TOKENS,
        inputTokens: documents.length * maxTextTokens(query) + textsAtMost(documents),
      }),
      settle: (attempt, { usage }) => attempt.answered(usage),
    });
    return ranked;
  }

  /**
   * One call of a media model; `units` are paid when it succeeds, and without them it is a task lookup. What `make` throws synchronously is
   * call.
   */
  media<Made extends MediaResult | readonly MediaResult[]>(
    model: ResolvedMediaModel,
    make: (options: MediaCallOptions) => Promise<Made>,
    options: CallOptions<ResolvedMediaModel> & { readonly units?: MediaUnits | undefined },
  ): Promise<Made> {
    const { units } = options;
    return this.answered(
      model,
      { ...options, current: () => model },
      {
        kind: 'media',
        auxiliary: units ? undefined : 'lookup',
        callOf: () => undefined,
        suits: () => false,
        send: (_model, _call, callOptions) => started(() => make(callOptions)),
        sentTokens: () => 0,
        worst: () => ({ ...NO_TOKENS, ...units }),
        settle: (attempt, result) =>
          attempt.produced(Array.isArray(result) ? { images: result.length } : (units ?? {})),
      },
    );
  }

  /** Calls MediaAdapter.moderate. An error that `make` throws synchronously is not recorded as a call. */
  moderate(
    model: ResolvedMediaModel,
    input: ModerationCall['input'],
    make: (options: ModelCallOptions) => Promise<Moderation>,
    options: CallOptions<ResolvedMediaModel>,
  ): Promise<Moderation> {
    const texts = textsIn(input);
    return this.answered(
      model,
      { ...options, current: () => model },
      {
        kind: 'moderation',
        callOf: () => undefined,
        suits: () => false,
        send: (_model, _call, callOptions) => started(() => make(callOptions)),
        sentTokens: () => tokensOfTexts(texts),
        worst: () => ({ ...NO_TOKENS, inputTokens: textsAtMost(texts) }),
        settle: (attempt, { usage }) => attempt.answered(usage),
      },
    );
  }

  /** Calls MediaAdapter.transcribe; `seconds` is the length of the sound, as far as it is known before. */
  transcribe(
    model: ResolvedMediaModel,
    make: (options: MediaCallOptions) => Promise<Transcript>,
    { seconds, ...options }: CallOptions<ResolvedMediaModel> & { readonly seconds: number },
  ): Promise<Transcript> {
    return this.answered(
      model,
      { ...options, current: () => model },
      {
        kind: 'transcript',
        callOf: () => undefined,
        suits: () => false,
        send: (_model, _call, callOptions) => started(() => make(callOptions)),
        sentTokens: () => 0,
        worst: () => ({
          seconds: Math.ceil(seconds),
          inputTokens: Math.ceil(seconds * MAX_HEARD_TOKENS),
          outputTokens: Math.ceil(seconds * MAX_SPOKEN_TOKENS),
        }),
        settle: (attempt, transcript) =>
          attempt.produced({ seconds: transcript.seconds ?? seconds }, transcript.usage),
      },
    );
  }

  /**
   * Calls ChatAdapter.listModels in one attempt, which is counted in the metrics. It has no model and is not in the usage ledger.
   */
  async listModels(
    adapter: ListingAdapter,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly OfferedModel[]> {
    const started = performance.now();
    let outcome = 'ok';
    try {
      return await adapter.listModels(connection, options);
    } catch (error) {
      outcome = error instanceof UpstreamError ? error.kind : 'error';
      throw error;
    } finally {
      const seconds = (performance.now() - started) / 1_000;
      this.metrics.upstreamCall({ provider: adapter.code, kind: 'list', outcome, seconds });
    }
  }

  /** The iterable of the retries itself: a generator around it would cost every read a promise. */
  private opened<Call, T>(
    first: ResolvedChatModel,
    options: CallOptions<ResolvedChatModel>,
    streamCall: StreamCall<ResolvedChatModel, Call, T>,
  ): AsyncIterable<T> {
    const { callOf, open, sentTokens, worst, partsOf } = streamCall;
    const { use, signal, firstAttempt = 1 } = options;
    const route = this.routeOf(first, options, streamCall);
    const span = currentSpan();
    let attempt: Attempt | undefined;
    const begin = async (number: number): Promise<AsyncIterable<T>> => {
      attempt = undefined;
      const model = await route.next(number);
      const start = { model, use, number: number + firstAttempt - 1 };
      let call: Call;
      let reservation: string | undefined;
      try {
        if (signal.aborted) throw abortedError();
        call = callOf(model);
        if (model.limits) {
          const worstCase = {
            worst: worst(call, model),
            isRepeat: isRepeated(route, model, options),
          };
          reservation = await this.reserved({ ...start, ...worstCase }, signal);
        }
      } catch (error) {
        route.abandon(model);
        throw error;
      }
      attempt = new Attempt({
        ...start,
        kind: 'chat',
        requestedModel: first.modelName,
        sentTokens: () => sentTokens(call),
        reservation,
        span,
        request: call,
      });
      use.trail?.add(attempt);
      return open(model, call, this.callOptionsOf(attempt, options));
    };
    return retryBeforeFirstPart(begin, retriesOf(route, options), {
      read: (read) => {
        attempt?.read(partsOf(read));
        if (route.isProbe) this.answers(route, attempt);
      },
      end: (how) => this.end(attempt, how),
    });
  }

  private answered<M extends ResolvedModel, Call, T>(
    first: M,
    options: AnswerOptions<M>,
    unaryCall: UnaryCall<M, Call, T>,
  ): Promise<T> {
    const { use, signal, firstAttempt = 1 } = options;
    const within = options.within ?? ((once) => once());
    const { kind, auxiliary, callOf, send, sentTokens, worst, settle } = unaryCall;
    const route = this.routeOf(first, options, unaryCall);
    const span = currentSpan();
    const once = async (number: number): Promise<T> => {
      const model = await route.next(number);
      const start = { model, use, number: number + firstAttempt - 1 };
      let call: Call;
      let reservation: string | undefined;
      try {
        if (signal.aborted) throw abortedError();
        call = callOf(model);
        if (model.limits && !auxiliary) {
          const worstCase = {
            worst: worst(call, model),
            isRepeat: isRepeated(route, model, options),
          };
          reservation = await this.reserved({ ...start, ...worstCase }, signal);
        }
      } catch (error) {
        route.abandon(model);
        throw error;
      }
      const attempt = new Attempt({
        ...start,
        kind,
        auxiliary,
        requestedModel: first.modelName,
        sentTokens: () => sentTokens(call),
        reservation,
        span,
        request: auxiliary ? undefined : call,
      });
      use.trail?.add(attempt);
      try {
        const answer = await send(model, call, this.callOptionsOf(attempt, options));
        settle(attempt, answer);
        this.end(attempt, 'whole');
        return answer;
      } catch (error) {
        if (error instanceof NotCalledError) {
          route.abandon(model);
          if (reservation !== undefined) await this.limits.release(model, reservation);
          throw error.cause as Error;
        }
        this.end(attempt, { error });
        throw error;
      }
    };
    return retryCall((number) => within(() => once(number)), retriesOf(route, options));
  }

  private routeOf<M extends ResolvedModel, Call>(
    first: M,
    options: CallOptions<M>,
    { callOf, suits }: { callOf: (model: M) => Call; suits: FallbackFilter<M, Call> },
  ): CallRoute<M> {
    const { use, signal, attempts = 1, maxRetryAfterMs, withoutFallbacks = false } = options;
    // An API key that is limited to models is limited in what answers, not only in what it asks for.
    const isAllowed = (id: number): boolean =>
      !withoutFallbacks && isWithinKey(use.caller, 'models', id);
    return new CallRoute<M>(
      {
        signal,
        attempts,
        maxRetryAfterMs,
        requested: (attempt) => this.modelFor(first, options, attempt),
        fallback: async (requested, id) =>
          isAllowed(id) ? this.models.fallbackOf(requested, id) : undefined,
        suits: (fallback, requested) => suits(fallback, requested, callOf(requested)),
        maxAttempts: MAX_ATTEMPTS,
        maxElapsedMs: CHAT_LIMITS.idleMs + FALLBACK_MS,
      },
      this.health,
    );
  }

  /** The options of an attempt, which record what it learns of its service. */
  private callOptionsOf<M extends ResolvedModel>(
    attempt: Attempt,
    { limits, signal, use }: CallOptions<M>,
  ): ModelCallOptions {
    const { trail } = use;
    const { model } = attempt.start;
    const findings: ServiceFindings = {
      facts: findingsOf(model),
      isStrict: isStrict(use, model),
      keep: (learned) => this.findings.keep(model, learned),
      leftOut: (names) => {
        attempt.leftOut = names;
      },
    };
    const onRateLimits = (headers: Readonly<Record<string, string>>): void => {
      if (trail) trail.upstreamLimits = headers;
    };
    const { traceparent } = attempt;
    return { limits, signal, findings, traceparent, ...(trail && { onRateLimits }) };
  }

  /** The first part of an answer shows that an address works again; the rest of the answer may take minutes. */
  private answers(route: { isProbe: boolean }, attempt: Attempt | undefined): void {
    route.isProbe = false;
    if (attempt) this.health.succeeded(attempt.start.model);
  }

  private async modelFor<M extends ResolvedModel>(
    first: M,
    { current, isResolved = false }: CallOptions<M>,
    attempt: number,
  ): Promise<M> {
    if (isResolved && attempt === 1) return first;
    return current ? current() : this.models.current(first);
  }

  /** Reserves limits for the call. Nothing stays reserved for an aborted signal. */
  private async reserved(
    call: Omit<LimitedCall, 'caller'> & { readonly use: ModelUse },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { caller, trail } = call.use;
    let reservation: string | undefined;
    try {
      reservation = await this.limits.reserve({ ...call, caller });
    } finally {
      // A repeated call that reserves nothing leaves the limits as they were told.
      const isChanged = reservation !== undefined || trail?.nearestLimits === undefined;
      if (trail && caller.origin === 'v1' && isChanged) {
        trail.nearestLimits = await this.limits.nearestLimits(call.model, caller);
      }
    }
    if (!signal.aborted) return reservation;
    if (reservation !== undefined) await this.limits.release(call.model, reservation);
    throw abortedError();
  }

  /** The call with a limit of its answer where a budget applies. */
  private limited(model: ResolvedChatModel, { caller }: ModelUse, call: ChatCall): ChatCall {
    if (!model.limits || call.maxTokens !== undefined) return call;
    const maxTokens = this.limits.maxOutput(model, caller);
    return maxTokens === undefined ? call : { ...call, maxTokens };
  }

  /** The same for a body that is relayed. */
  private limitedBody(
    model: ResolvedChatModel,
    { caller }: ModelUse,
    body: RelayedBody,
  ): RelayedBody {
    if (!model.limits || outputLimitIn(body) !== undefined) return body;
    const maxTokens = this.limits.maxOutput(model, caller);
    if (maxTokens === undefined) return body;
    const others = Object.entries(body).filter(([name]) => !isOutputLimit(name));
    const isOfResponses = model.adapter.protocol(model.connection.address) === 'responses';
    const field = isOfResponses ? 'max_output_tokens' : 'max_tokens';
    return { ...Object.fromEntries(others), [field]: maxTokens };
  }

  private relayOrTranslation(
    first: ResolvedChatModel,
    body: RelayedBody,
    { use, translated }: CallOptions<ResolvedChatModel> & RelaySettings,
    model: ResolvedChatModel,
  ): RelayOrTranslation {
    if (!relaysAlike(model, first)) {
      return { call: this.limited(model, use, callFor(translated(model), model, first)) };
    }
    return { body: this.limitedBody(model, use, bodyFor(body, model, first)) };
  }

  /** Counts and records an attempt, if a service was called. */
  private end(attempt: Attempt | undefined, how: Parameters<Attempt['end']>[0]): void {
    if (!attempt) return;
    attempt.end(how);
    const { kind, model } = attempt.start;
    const provider = model.providerCode;
    const { outcome, durationMs, firstTokenMs } = attempt;
    this.metrics.upstreamCall({ provider, kind, outcome, seconds: durationMs / 1_000 });
    if (firstTokenMs !== undefined) this.metrics.firstToken(provider, firstTokenMs / 1_000);
    const { reservation } = attempt.start;
    if (reservation === undefined) this.ledger.enter(attempt.toEntry());
    else this.limits.settle(attempt.toEntry());
    if (typeof how === 'object') this.health.failed(model, how.error);
    else if (attempt.isOk || firstTokenMs !== undefined) this.health.succeeded(model);
    else this.health.abandoned(model);
  }
}

function retriesOf<M extends ResolvedModel>(
  route: CallRoute<M>,
  { attempts = 1, signal, maxRetryAfterMs, overflow }: CallOptions<M>,
): RetryOptions {
  return {
    attempts,
    signal,
    ...(maxRetryAfterMs !== undefined && { maxRetryAfterMs }),
    beforeRetry: async (error, number) => {
      const isTooLong = error instanceof UpstreamError && error.kind === 'context-length';
      if (isTooLong && (await route.afterOverflow(error))) return;
      if (isTooLong && overflow && !signal.aborted) overflow(error);
      else await route.afterFailure(error, number);
    },
  };
}

/** Whether an attempt of the call was made at the model before, also by a caller that repeats it. */
function isRepeated<M extends ResolvedModel>(
  route: CallRoute<M>,
  { id }: M,
  { firstAttempt = 1, use }: CallOptions<M>,
): boolean {
  return route.isRepeat || (firstAttempt > 1 && use.trail?.hasCalled(id) === true);
}

/** Wraps an error that was thrown before a service was called. */
class NotCalledError extends Error {}

/** Starts a call. A synchronous throw becomes a NotCalledError. */
function started<T>(make: () => Promise<T>): Promise<T> {
  try {
    return make();
  } catch (error) {
    throw new NotCalledError('No call was made.', { cause: error });
  }
}

/** Maximum tokens per second of sound: models of speech read 12.5 to 25, and speech has fewer than 10 words a second. */
const MAX_HEARD_TOKENS = 25;
const MAX_SPOKEN_TOKENS = 15;

const NO_TOKENS: WorstCase = { inputTokens: 0, outputTokens: 0 };

/** The worst case of a call. Where a budget applies, every call has a limit of its answer. */
function worstOfCall(call: ChatCall, { contextWindow }: ResolvedChatModel): WorstCase {
  const inputTokens = maxInputTokens(call, contextWindow);
  return {
    inputTokens,
    outputTokens: call.maxTokens ?? 0,
    cacheWrite: cacheWriteOf([call.messages, call.tools]),
  };
}

function worstOfBody(body: RelayedBody, { contextWindow }: ResolvedChatModel): WorstCase {
  const outputTokens = (outputLimitIn(body) ?? 0) * answersIn(body);
  const inputTokens = maxBodyTokens(body, contextWindow);
  return {
    ...{ inputTokens, outputTokens, cacheWrite: cacheWriteOf(body) },
    ...maxServiceToolCalls(body),
  };
}

/** Services may write what they read to their caches; for an hour only where the request asks for it. */
function cacheWriteOf(request: object): 'short' | 'hour' {
  return asksForHour(request) ? 'hour' : 'short';
}

function suitsCall(
  fallback: ResolvedChatModel,
  _asked: ResolvedChatModel,
  call: ChatCall,
): boolean {
  return canAnswer(fallback, needsOfCall(call, tokensOfCall(call)));
}

function suitsBody(fallback: ResolvedChatModel, body: RelayedBody): boolean {
  return canAnswer(fallback, needsOfBody(body, estimateBodyTokens(body)));
}

function suitsRequest(
  fallback: ResolvedChatModel,
  requested: ResolvedChatModel,
  request: RelayOrTranslation,
): boolean {
  return 'body' in request
    ? suitsBody(fallback, request.body)
    : suitsCall(fallback, requested, request.call);
}

function worstOfRequest(request: RelayOrTranslation, model: ResolvedChatModel): WorstCase {
  return 'body' in request ? worstOfBody(request.body, model) : worstOfCall(request.call, model);
}

function tokensOfRequest(request: RelayOrTranslation): number {
  return 'body' in request ? estimateBodyTokens(request.body) : tokensOfCall(request.call);
}

async function* withoutBytes(
  translatedBy: ResolvedChatModel,
  stream: AsyncIterable<readonly ChatPart[]>,
): AsyncGenerator<RelayStreamRead, void, void> {
  for await (const parts of stream) yield { bytes: undefined, parts, translatedBy };
}

function settleCompletion(
  attempt: Attempt,
  { text, reasoning, toolCalls, usage }: ChatCompletion,
): void {
  const called = toolCalls.map((call) => call.name + call.arguments).join('');
  attempt.answered(usage, text + reasoning + called);
}

/** Below /v1 an API key or a model can require every parameter to be honoured. An agent's own parameters are not those of the request. */
function isStrict(
  { caller: { origin, apiKey }, agentId }: ModelUse,
  { strictParameters }: ResolvedModel,
): boolean {
  const isWanted = apiKey?.strictParameters === true || strictParameters === true;
  return (origin === 'v1' || origin === 'batch') && isWanted && agentId === undefined;
}

/** An image counts as its address. */
function textsIn(input: ModerationCall['input']): readonly string[] {
  if (typeof input === 'string') return [input];
  return input.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
}

function tokensOfTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
}
