import { Inject, Injectable } from '@nestjs/common';
import { isWithinKey } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Metrics } from '../../platform/observability/index.js';
import type { UpstreamKind } from '../../platform/observability/index.js';
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
import { findingsOf, ModelFindings } from '../findings/model.findings.js';
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
  isOutputLimit,
  mostBodyTokens,
  mostInputTokens,
  mostTokens,
  outputLimitIn,
  textsAtMost,
} from '../tokens/worst-case.js';
import { Attempt } from './attempt.js';
import {
  bodyFor,
  callFor,
  canAnswer,
  estimateBodyTokens,
  needsOfBody,
  needsOfCall,
  relaysAlike,
  tokensOfCall,
} from './suitable.js';
import { CallRoute } from './call.route.js';
import type { ModelUse } from './attempt.js';
import { UpstreamHealth } from './upstream.health.js';

/** Attempts of one call over all keys and models; those of the model itself are made in any case. */
const MAX_ATTEMPTS = 10;
/** How long after the silence that ends an attempt a call may still go on to another key or model. */
const FALLBACK_MS = 60_000;

/** How a call is made and repeated. */
export interface CallOptions<M extends ResolvedModel> {
  readonly use: ModelUse;
  readonly limits: CallLimits;
  readonly signal: AbortSignal;
  /** Tries in all, the first included; 1 when absent. */
  readonly attempts?: number;
  /** As in RetryOptions. */
  readonly longestRetryAfterMs?: number;
  /** The model for the next attempt; its record as it is stored by then when absent. */
  readonly current?: () => M | Promise<M>;
  /** The model was resolved for this very call, so it is looked up again for further attempts only. */
  readonly isResolved?: boolean;
  /** The model alone is called, for a test of what it can do. */
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

/** What a call with one answer can have beside that. */
interface AnswerOptions<M extends ResolvedModel> extends CallOptions<M> {
  /** Runs each attempt, for calls that wait for their turn. */
  readonly within?: <T>(attempt: () => Promise<T>) => Promise<T>;
}

type Asking<M extends ResolvedModel, Call> = (model: M) => Omit<Call, 'model'>;

/** What a relayed call has beside that. */
export interface RelaySettings extends Pick<RelayOptions, 'headers' | 'withUsage'> {
  /** The request in the words of the adapters, for a fallback of another protocol. Throws a DomainError for one that cannot honour it. */
  readonly translated: Asking<ResolvedChatModel, ChatCall>;
}

/** A read of a relayed stream. */
interface PassedRead extends RelayedRead {
  /** The fallback of another protocol that answers. */
  readonly translatedBy?: ResolvedChatModel;
}

/** The answer of a fallback of another protocol. */
interface TranslatedAnswer {
  readonly completion: ChatCompletion;
  readonly translatedBy: ResolvedChatModel;
}

/** A request that is relayed to the models that speak its protocol, and translated for the others. */
type Passed = { readonly body: RelayedBody } | { readonly call: ChatCall };

/** Whether a fallback can answer what the asked model was to be sent. */
type Suits<M extends ResolvedModel, Call> = (fallback: M, asked: M, call: Call) => boolean;

/** The parts of one call with one answer. */
interface Exchange<M extends ResolvedModel, Call, T> {
  readonly kind: UpstreamKind;
  readonly auxiliary?: AuxiliaryKind | undefined;
  readonly callOf: (model: M) => Call;
  readonly suits: Suits<M, Call>;
  readonly send: (model: M, call: Call, options: ModelCallOptions) => Promise<T>;
  readonly sentTokens: (call: Call) => number;
  readonly worst: (call: Call, model: M) => WorstCase;
  readonly settle: (attempt: Attempt, answer: T) => void;
}

interface Opening<M extends ResolvedModel, Call, T> {
  readonly callOf: (model: M) => Call;
  readonly suits: Suits<M, Call>;
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
    @Inject(CONFIG) private readonly config: Config,
    private readonly findings: ModelFindings,
  ) {}

  /** As ChatAdapter.stream; opened again as retryBeforeFirstPart does. */
  stream(
    first: ResolvedChatModel,
    callOf: Asking<ResolvedChatModel, ChatCall>,
    options: CallOptions<ResolvedChatModel>,
  ): AsyncIterable<readonly ChatPart[]> {
    const { use } = options;
    return this.opened(first, options, {
      callOf: (model): ChatCall => this.limited(model, use, callFor(callOf(model), model, first)),
      suits: suitsCall,
      open: ({ adapter, connection }, call, sending) => adapter.stream(call, connection, sending),
      sentTokens: tokensOfCall,
      worst: worstOfCall,
      partsOf: (parts) => parts,
    });
  }

  /** As ChatAdapter.complete. */
  complete(
    first: ResolvedChatModel,
    callOf: Asking<ResolvedChatModel, ChatCall>,
    options: AnswerOptions<ResolvedChatModel>,
  ): Promise<ChatCompletion> {
    const { use } = options;
    return this.answered(first, options, {
      kind: 'chat',
      callOf: (model): ChatCall => this.limited(model, use, callFor(callOf(model), model, first)),
      suits: suitsCall,
      send: ({ adapter, connection }, call, sending) => adapter.complete(call, connection, sending),
      sentTokens: tokensOfCall,
      worst: worstOfCall,
      settle: settleCompletion,
    });
  }

  /** As ChatAdapter.relayStream, with the parts alone from a fallback of another protocol; opened again as retryBeforeFirstPart does. */
  relayStream(
    first: ResolvedChatModel,
    body: RelayedBody,
    options: CallOptions<ResolvedChatModel> & RelaySettings,
  ): AsyncIterable<PassedRead> {
    const { withUsage, headers } = options;
    return this.opened(first, options, {
      callOf: (model): Passed => this.passed(first, body, options, model),
      suits: suitsPassed,
      open: (model, sent, sending): AsyncIterable<PassedRead> => {
        const { adapter, connection } = model;
        return 'body' in sent
          ? adapter.relayStream(sent.body, connection, { ...sending, withUsage, headers })
          : withoutBytes(model, adapter.stream(sent.call, connection, sending));
      },
      sentTokens: tokensOfPassed,
      worst: worstOfPassed,
      partsOf: ({ parts }) => parts,
    });
  }

  /** As ChatAdapter.relay: JSON as the service sent it. The answer of a fallback of another protocol is that of ChatAdapter.complete. */
  async relay(
    first: ResolvedChatModel,
    body: RelayedBody,
    options: AnswerOptions<ResolvedChatModel> & RelaySettings,
  ): Promise<string | TranslatedAnswer> {
    const { headers } = options;
    const answer = await this.answered(first, options, {
      kind: 'chat',
      callOf: (model): Passed => this.passed(first, body, options, model),
      suits: suitsPassed,
      send: async (model, sent, sending): Promise<RelayedAnswer | TranslatedAnswer> => {
        const { adapter, connection } = model;
        if ('body' in sent) return adapter.relay(sent.body, connection, { ...sending, headers });
        const completion = await adapter.complete(sent.call, connection, sending);
        return { completion, translatedBy: model };
      },
      sentTokens: tokensOfPassed,
      worst: worstOfPassed,
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

  /** As ChatAdapter.relayCount: a call that uses no tokens. */
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
      suits: (fallback, asked, sent) => relaysAlike(fallback, asked) && suitsBody(fallback, sent),
      send: ({ adapter, connection }, sent, sending) =>
        adapter.relayCount(sent, connection, { ...sending, headers }),
      sentTokens: () => 0,
      worst: () => NO_TOKENS,
      settle: (attempt) => attempt.answered({ inputTokens: 0, outputTokens: 0, raw: undefined }),
    });
  }

  /** As EmbeddingAdapter.embed. */
  embed(
    first: ResolvedEmbeddingModel,
    callOf: Asking<ResolvedEmbeddingModel, EmbeddingCall>,
    options: AnswerOptions<ResolvedEmbeddingModel>,
  ): Promise<EmbeddingAnswer> {
    return this.answered(first, options, {
      kind: 'embedding',
      callOf: (model): EmbeddingCall => ({ ...callOf(model), model: model.modelName }),
      // Vectors of different models cannot be compared.
      suits: (fallback, asked) =>
        fallback.modelName === asked.modelName && fallback.modelDimension === asked.modelDimension,
      send: ({ adapter, connection }, call, sending) => adapter.embed(call, connection, sending),
      sentTokens: ({ inputs }) => tokensOfTexts(inputs),
      worst: ({ inputs }) => ({ ...NO_TOKENS, inputTokens: textsAtMost(inputs) }),
      settle: (attempt, { usage }) => attempt.answered(usage),
    });
  }

  /** As RerankAdapter.rerank. */
  async rerank(
    first: ResolvedRerankModel,
    call: Omit<RerankCall, 'model'>,
    options: AnswerOptions<ResolvedRerankModel>,
  ): Promise<readonly RankedDocument[]> {
    const { ranked } = await this.answered(first, options, {
      kind: 'rerank',
      callOf: ({ modelName }): RerankCall => ({ ...call, model: modelName }),
      suits: () => true,
      send: ({ adapter, connection }, asked, sending) => adapter.rerank(asked, connection, sending),
      // The query is read with each document.
      sentTokens: ({ query, documents }) =>
        documents.length * estimateTokens(query) + tokensOfTexts(documents),
      worst: ({ query, documents }) => ({
        ...NO_TOKENS,
        inputTokens: documents.length * mostTokens(query) + textsAtMost(documents),
      }),
      settle: (attempt, { usage }) => attempt.answered(usage),
    });
    return ranked;
  }

  /**
   * One call of a media model; `units` are paid when it succeeds, and without them it is a look at a task. What `make` throws at once, instead of its promise, is no
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
        send: (_model, _call, sending) => made(() => make(sending)),
        sentTokens: () => 0,
        worst: () => ({ ...NO_TOKENS, ...units }),
        settle: (attempt, result) =>
          attempt.made(Array.isArray(result) ? { images: result.length } : (units ?? {})),
      },
    );
  }

  /** As MediaAdapter.moderate. What `make` throws at once is no call. */
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
        send: (_model, _call, sending) => made(() => make(sending)),
        sentTokens: () => tokensOfTexts(texts),
        worst: () => ({ ...NO_TOKENS, inputTokens: textsAtMost(texts) }),
        settle: (attempt, { usage }) => attempt.answered(usage),
      },
    );
  }

  /** As MediaAdapter.transcribe; `seconds` is how long the sound is, as far as that is known before. */
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
        send: (_model, _call, sending) => made(() => make(sending)),
        sentTokens: () => 0,
        worst: () => ({
          seconds: Math.ceil(seconds),
          inputTokens: Math.ceil(seconds * MAX_HEARD_TOKENS),
          outputTokens: Math.ceil(seconds * MAX_SPOKEN_TOKENS),
        }),
        settle: (attempt, transcript) =>
          attempt.made({ seconds: transcript.seconds ?? seconds }, transcript.usage),
      },
    );
  }

  /**
   * As ChatAdapter.listModels: one attempt, which is counted in the metrics. It is of no model, so that it is not in the usage ledger.
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
    opening: Opening<ResolvedChatModel, Call, T>,
  ): AsyncIterable<T> {
    const { callOf, open, sentTokens, worst, partsOf } = opening;
    const { use, signal, firstAttempt = 1 } = options;
    const route = this.routeOf(first, options, opening);
    let attempt: Attempt | undefined;
    const begin = async (number: number): Promise<AsyncIterable<T>> => {
      attempt = undefined;
      const model = await route.next(number);
      const made = { model, use, number: number + firstAttempt - 1 };
      let call: Call;
      let reservation: string | undefined;
      try {
        if (signal.aborted) throw abortedError();
        call = callOf(model);
        if (model.limits) {
          const asking = { worst: worst(call, model), isRepeat: isRepeated(route, model, options) };
          reservation = await this.reserved({ ...made, ...asking }, signal);
        }
      } catch (error) {
        route.abandon(model);
        throw error;
      }
      attempt = new Attempt({
        ...made,
        kind: 'chat',
        asked: first.modelName,
        sentTokens: () => sentTokens(call),
        reservation,
      });
      use.trail?.add(attempt);
      return open(model, call, this.sendingOf(attempt, options));
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
    exchange: Exchange<M, Call, T>,
  ): Promise<T> {
    const { use, signal, firstAttempt = 1 } = options;
    const within = options.within ?? ((once) => once());
    const { kind, auxiliary, callOf, send, sentTokens, worst, settle } = exchange;
    const route = this.routeOf(first, options, exchange);
    const once = async (number: number): Promise<T> => {
      const model = await route.next(number);
      const made = { model, use, number: number + firstAttempt - 1 };
      let call: Call;
      let reservation: string | undefined;
      try {
        if (signal.aborted) throw abortedError();
        call = callOf(model);
        if (model.limits && !auxiliary) {
          const asking = { worst: worst(call, model), isRepeat: isRepeated(route, model, options) };
          reservation = await this.reserved({ ...made, ...asking }, signal);
        }
      } catch (error) {
        route.abandon(model);
        throw error;
      }
      const attempt = new Attempt({
        ...{ ...made, kind, auxiliary },
        asked: first.modelName,
        sentTokens: () => sentTokens(call),
        reservation,
      });
      use.trail?.add(attempt);
      try {
        const answer = await send(model, call, this.sendingOf(attempt, options));
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
    { callOf, suits }: { callOf: (model: M) => Call; suits: Suits<M, Call> },
  ): CallRoute<M> {
    const { use, signal, attempts = 1, longestRetryAfterMs, withoutFallbacks = false } = options;
    // An API key that is limited to models is limited in what answers, not only in what it asks for.
    const isAllowed = (id: number): boolean =>
      !withoutFallbacks && isWithinKey(use.caller, 'models', id);
    return new CallRoute<M>(
      {
        signal,
        attempts,
        longestRetryAfterMs,
        asked: (attempt) => this.modelFor(first, options, attempt),
        fallback: async (asked, id) =>
          isAllowed(id) ? this.models.fallbackOf(asked, id) : undefined,
        suits: (fallback, asked) => suits(fallback, asked, callOf(asked)),
        mostAttempts: MAX_ATTEMPTS,
        longestMs: this.config.CHAT_IDLE_TIMEOUT_SECONDS * 1_000 + FALLBACK_MS,
      },
      this.health,
    );
  }

  /** What an attempt is sent with: it tells what it learns of its service. */
  private sendingOf<M extends ResolvedModel>(
    attempt: Attempt,
    { limits, signal, use }: CallOptions<M>,
  ): ModelCallOptions {
    const { trail } = use;
    const { model } = attempt.start;
    const findings: ServiceFindings = {
      known: findingsOf(model),
      isStrict: isStrict(use, model),
      keep: (learned) => this.findings.keep(model, learned),
      leftOut: (names) => {
        attempt.leftOut = names;
      },
    };
    const onRateLimits = (said: Readonly<Record<string, string>>): void => {
      if (trail) trail.upstreamLimits = said;
    };
    return { limits, signal, findings, ...(trail && { onRateLimits }) };
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

  /** What the call has reserved of its limits; nothing is left reserved for a signal that has aborted. */
  private async reserved(
    call: Omit<LimitedCall, 'caller'> & { readonly use: ModelUse },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { caller, trail } = call.use;
    let reservation: string | undefined;
    try {
      reservation = await this.limits.reserve({ ...call, caller });
    } finally {
      if (trail && caller.origin === 'v1') {
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

  private passed(
    first: ResolvedChatModel,
    body: RelayedBody,
    { use, translated }: CallOptions<ResolvedChatModel> & RelaySettings,
    model: ResolvedChatModel,
  ): Passed {
    if (!relaysAlike(model, first)) {
      return { call: this.limited(model, use, callFor(translated(model), model, first)) };
    }
    return { body: this.limitedBody(model, use, bodyFor(body, model, first)) };
  }

  /** Counts and records an attempt; undefined where no service was called. */
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
    else this.health.left(model);
  }
}

function retriesOf<M extends ResolvedModel>(
  route: CallRoute<M>,
  { attempts = 1, signal, longestRetryAfterMs, overflow }: CallOptions<M>,
): RetryOptions {
  return {
    attempts,
    signal,
    ...(longestRetryAfterMs !== undefined && { longestRetryAfterMs }),
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

/** What a call was to be made with was wrong. */
class NotCalledError extends Error {}

/** What it throws at once, instead of its promise, is no call. */
function made<T>(make: () => Promise<T>): Promise<T> {
  try {
    return make();
  } catch (error) {
    throw new NotCalledError('No call was made.', { cause: error });
  }
}

/** Tokens of a second of sound at most: models of speech read 12.5 to 25 of them, and speech has fewer than 10 words a second. */
const MAX_HEARD_TOKENS = 25;
const MAX_SPOKEN_TOKENS = 15;

const NO_TOKENS: WorstCase = { inputTokens: 0, outputTokens: 0 };

/** Where a budget applies, every call has a limit of its answer. */
function worstOfCall(call: ChatCall, { contextWindow }: ResolvedChatModel): WorstCase {
  return { inputTokens: mostInputTokens(call, contextWindow), outputTokens: call.maxTokens ?? 0 };
}

function worstOfBody(body: RelayedBody, { contextWindow }: ResolvedChatModel): WorstCase {
  const outputTokens = (outputLimitIn(body) ?? 0) * answersIn(body);
  return { inputTokens: mostBodyTokens(body, contextWindow), outputTokens };
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

function suitsPassed(fallback: ResolvedChatModel, asked: ResolvedChatModel, sent: Passed): boolean {
  return 'body' in sent ? suitsBody(fallback, sent.body) : suitsCall(fallback, asked, sent.call);
}

function worstOfPassed(sent: Passed, model: ResolvedChatModel): WorstCase {
  return 'body' in sent ? worstOfBody(sent.body, model) : worstOfCall(sent.call, model);
}

function tokensOfPassed(sent: Passed): number {
  return 'body' in sent ? estimateBodyTokens(sent.body) : tokensOfCall(sent.call);
}

async function* withoutBytes(
  translatedBy: ResolvedChatModel,
  stream: AsyncIterable<readonly ChatPart[]>,
): AsyncGenerator<PassedRead, void, void> {
  for await (const parts of stream) yield { bytes: undefined, parts, translatedBy };
}

function settleCompletion(
  attempt: Attempt,
  { text, reasoning, toolCalls, usage }: ChatCompletion,
): void {
  const called = toolCalls.map((call) => call.name + call.arguments).join('');
  attempt.answered(usage, text + reasoning + called);
}

/** Below /v1 an API key or a model can want each parameter honoured. An agent's own parameters are not those of the request. */
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
