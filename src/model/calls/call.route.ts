import { DEFAULT_MAX_TOKENS, pauseBeforeRetry, UpstreamError } from '../../provider/index.js';
import type { ChatCall, RelayedBody, UpstreamErrorKind } from '../../provider/index.js';
import { estimateMessageTokens, estimateTokens, IMAGE_TOKENS } from '../model-window.js';
import type { ResolvedChatModel, ResolvedModel } from '../model.resolver.js';
import { DomainError } from '../../platform/error/index.js';
import { isRefusal } from './upstream.health.js';
import type { UpstreamHealth } from './upstream.health.js';

/** The capabilities that a call needs of the model that answers it. */
export interface Needs {
  readonly tools: boolean;
  readonly images: boolean;
  readonly tokens: number;
}

/** Whether nothing is known that keeps the fallback from answering. */
export function canAnswer(fallback: ResolvedChatModel, needs: Needs): boolean {
  if (needs.tools && fallback.supportsTools === false) return false;
  if (needs.images && fallback.supportsVision === false) return false;
  return fallback.contextWindow === undefined || needs.tokens <= fallback.contextWindow;
}

export function needsOfCall({ messages, tools }: Omit<ChatCall, 'model'>, tokens: number): Needs {
  const images = messages.some(
    ({ content }) => typeof content !== 'string' && content.some(({ type }) => type !== 'text'),
  );
  return { tools: (tools?.length ?? 0) > 0, images, tokens };
}

const IMAGES: readonly unknown[] = ['image_url', 'image', 'input_image'];

export function needsOfBody(body: RelayedBody, tokens: number): Needs {
  const tools = ['tools', 'functions'].some((name) => {
    const offered = body[name];
    return Array.isArray(offered) && offered.length > 0;
  });
  return { tools, images: hasImage(body['messages']) || hasImage(body['input']), tokens };
}

function hasImage(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasImage);
  if (typeof value !== 'object' || value === null) return false;
  if ('type' in value && IMAGES.includes(value.type)) return true;
  return 'content' in value && hasImage(value.content);
}

/** Whether a body for the asked model can be passed on to the fallback: both speak the protocol of the client. */
export function relaysAlike(fallback: ResolvedChatModel, requested: ResolvedChatModel): boolean {
  const protocol = requested.adapter.protocol(requested.connection.address);
  return fallback.adapter.canRelay(fallback.connection.address, protocol);
}

const OUTPUT_LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/** The body for the model. A fallback that can write less is asked for less. */
export function bodyFor(
  body: RelayedBody,
  model: ResolvedChatModel,
  requested: ResolvedChatModel,
): RelayedBody {
  const { modelName, maxOutput, id } = model;
  const outgoing: Record<string, unknown> = { ...body, model: modelName };
  const maxAnswerTokens = id === requested.id ? Infinity : (maxOutput ?? Infinity);
  for (const name of OUTPUT_LIMITS) {
    const requestedLimit = outgoing[name];
    if (typeof requestedLimit !== 'number') continue;
    const fitting = Math.min(
      requestedLimit,
      maxAnswerTokens,
      remainingWindow(model, () => estimateBodyTokens(body)),
    );
    if (fitting > thinkingBudgetIn(body)) outgoing[name] = fitting;
  }
  return outgoing;
}

/** The thinking budget of the messages protocol, which must be smaller than the limit of the answer. */
function thinkingBudgetIn({ thinking }: RelayedBody): number {
  const isBudget = typeof thinking === 'object' && thinking !== null && 'budget_tokens' in thinking;
  return isBudget ? Number(thinking.budget_tokens) : 0;
}

export function callFor(
  call: Omit<ChatCall, 'model'>,
  model: ResolvedChatModel,
  requested: ResolvedChatModel,
): ChatCall {
  const { modelName, maxOutput, contextWindow, id } = model;
  const { maxTokens } = call;
  const remainingTokens = remainingWindow(model, () => tokensOfCall(call));
  if (maxTokens !== undefined) {
    const maxAnswerTokens = id === requested.id ? Infinity : (maxOutput ?? Infinity);
    return {
      ...call,
      model: modelName,
      maxTokens: Math.min(maxTokens, maxAnswerTokens, remainingTokens),
    };
  }
  if (!needsLimit(model)) return { ...call, model: modelName };
  // Estimates may be too low, so half of the window is left for the request.
  const half = contextWindow === undefined ? Infinity : Math.max(1, Math.floor(contextWindow / 2));
  const fitting = Math.min(maxOutput ?? Infinity, half, remainingTokens);
  return {
    ...call,
    model: modelName,
    ...(fitting < DEFAULT_MAX_TOKENS && { maxTokens: fitting }),
  };
}

/** Estimated tokens of a call's request. */
export function tokensOfCall({ messages, tools }: Omit<ChatCall, 'model'>): number {
  const offered = tools ? estimateTokens(JSON.stringify(tools)) : 0;
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), offered);
}

/** The messages protocol requires a limit of the answer, and its services refuse one that exceeds the window. */
function needsLimit({ adapter, connection }: ResolvedChatModel): boolean {
  return adapter.protocol(connection.address) === 'messages';
}

/** The longest answer that fits into the window beside the request. */
function remainingWindow(model: ResolvedChatModel, sentTokens: () => number): number {
  const { contextWindow } = model;
  if (contextWindow === undefined || !needsLimit(model)) return Infinity;
  return Math.max(1, contextWindow - sentTokens());
}

/** The fields of request bodies that the model reads. */
const READ = ['system', 'instructions', 'messages', 'input', 'tools', 'functions'] as const;

/** Fields whose values mean nothing to the model. */
const STRUCTURE = new Set([
  ...['role', 'type', 'id', 'tool_call_id', 'call_id', 'status', 'detail'],
  ...['tool_use_id', 'signature', 'encrypted_content', 'cache_control'],
]);

/** Fields that hold an image in the protocols. */
const IMAGE_FIELDS = new Set(['image_url', 'source']);

/** Estimated tokens of a relayed body, counted as estimateMessageTokens does. */
export function estimateBodyTokens(body: RelayedBody): number {
  return READ.reduce((sum, field) => sum + tokensIn(body[field]), 0);
}

function tokensIn(value: unknown): number {
  if (typeof value === 'string') return estimateTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensIn(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce<number>((sum, [name, one]) => {
    if (IMAGE_FIELDS.has(name)) return sum + IMAGE_TOKENS;
    return STRUCTURE.has(name) ? sum : sum + tokensIn(one);
  }, 0);
}

/** The models that a call may go to, and for how long. */
export interface RouteOptions<M extends ResolvedModel> {
  /** Attempts at each model. */
  readonly attempts: number;
  readonly signal: AbortSignal;
  readonly maxRetryAfterMs?: number | undefined;
  /** The model that was asked for, for the attempt of this number. */
  readonly requested: (attempt: number) => M | Promise<M>;
  /** A fallback; undefined for one that cannot be called now. */
  readonly fallback: (requested: M, id: number) => Promise<M | undefined>;
  /** Whether a fallback can answer the request. */
  readonly suits: (fallback: M, requested: M) => boolean;
  /** Attempts in all; those of the requested model are always made. */
  readonly maxAttempts: number;
  /** After this time no attempt goes to another key or model. */
  readonly maxElapsedMs: number;
}

/** A model that a call may go to. */
interface Stage<M> {
  /** The id of a fallback; undefined for the requested model. */
  readonly id: number | undefined;
  tries: number;
  isCalled: boolean;
  failure: UpstreamError | undefined;
  isOver: boolean;
  model: M | undefined;
}

interface Chosen<M> {
  readonly stage: Stage<M>;
  readonly model: M;
}

/**
 * Chooses the target of each attempt of one call: the keys of its model, then its fallbacks in their order, each as often as a model is
 * tried. A failing key or address cools down and is skipped while others are available. A model without further
 * keys and fallbacks is called again as pauseBeforeRetry says.
 */
export class CallRoute<M extends ResolvedModel> {
  /** Whether the attempt that runs tries an address again that cooled down. */
  isProbe = false;
  /** Whether an attempt of this call went to the model of the attempt that runs before. */
  isRepeat = false;
  private stages: readonly Stage<M>[] | undefined;
  private chosen: Chosen<M> | undefined;
  private total = 0;
  /** The request is longer than this window: fallbacks must be known to have a larger one. */
  private exceededWindow: number | undefined;
  private readonly startedAt = performance.now();
  /** Refused keys, by their places. */
  private readonly refused = new Set<string>();
  private readonly failed = new Set<string>();

  constructor(
    private readonly options: RouteOptions<M>,
    private readonly health: UpstreamHealth,
  ) {}

  /** The model for the next attempt, with the key to use. */
  async next(attempt: number): Promise<M> {
    if (this.chosen) return this.use(this.chosen);
    const requested = await this.options.requested(attempt);
    this.isRepeat = attempt > 1;
    if (!requested.variants && !requested.fallbackIds) return requested;
    this.stages = [undefined, ...(requested.fallbackIds ?? [])].map((id) => ({
      id,
      tries: id === undefined ? attempt - 1 : 0,
      isCalled: id === undefined && attempt > 1,
      failure: undefined,
      isOver: false,
      model: id === undefined ? requested : undefined,
    }));
    this.chosen = (await this.find(true)) ?? (await this.find(false));
    return this.chosen ? this.use(this.chosen) : this.begin(requested);
  }

  /** Resolves when `next` may be called for another attempt, else throws what the call fails with. */
  async afterFailure(error: unknown, attempt: number): Promise<void> {
    const { chosen, options } = this;
    if (!chosen) return pauseBeforeRetry(error, attempt, options);
    const { stage, model } = chosen;
    this.total += 1;
    this.judge(error, chosen);
    if (!this.mayGoElsewhere) {
      for (const one of this.stages ?? []) one.isOver ||= one.id !== undefined;
    }
    const next = (await this.find(true)) ?? (await this.find(false));
    if (!next) throw this.failure(error);
    const { failure } = next.stage;
    const isElsewhere = next.stage !== stage || this.hasOtherKey(next.model, model);
    const isHelped = failure === undefined || (isElsewhere && isOfKey(failure));
    if (!isHelped) {
      await pauseBeforeRetry(failure, Math.max(1, next.stage.tries), options);
      // The record may have changed meanwhile.
      next.stage.model = undefined;
    }
    const again = isHelped ? undefined : await this.find(false, (one) => one === next.stage);
    this.chosen = again ?? next;
  }

  /**
   * The request is longer than the window of the model. Whether there is to be another attempt, at a fallback that is known to
   * have a larger one.
   */
  async afterOverflow(error: UpstreamError): Promise<boolean> {
    const { chosen } = this;
    if (!chosen || this.options.signal.aborted) return false;
    this.total += 1;
    chosen.stage.failure = error;
    if (!this.mayGoElsewhere) return false;
    const before = this.exceededWindow;
    this.exceededWindow = Math.max(before ?? 0, chosen.model.contextWindow ?? 0);
    const isFallback = ({ id }: Stage<M>): boolean => id !== undefined;
    const next = (await this.find(true, isFallback)) ?? (await this.find(false, isFallback));
    if (next) {
      chosen.stage.isOver = true;
      this.chosen = next;
    } else this.exceededWindow = before;
    return next !== undefined;
  }

  /** Releases a model whose attempt is not made. */
  abandon(model: M): void {
    if (!this.isProbe) return;
    this.isProbe = false;
    this.health.abandoned(model);
  }

  /** Attempts and time of the call remain. */
  private get mayGoElsewhere(): boolean {
    const { maxElapsedMs, maxAttempts } = this.options;
    return this.total < maxAttempts && performance.now() - this.startedAt <= maxElapsedMs;
  }

  private use({ stage, model }: Chosen<M>): M {
    this.isRepeat = stage.isCalled;
    stage.isCalled = true;
    return this.begin(model);
  }

  private begin(model: M): M {
    this.isProbe = this.health.begin(model);
    return model;
  }

  /** Records what the failure means for the model. Throws an error that no other attempt can avoid. */
  private judge(error: unknown, { stage, model }: Chosen<M>): void {
    const { attempts, signal } = this.options;
    if (signal.aborted) throw error;
    const isFallback = stage.id !== undefined;
    if (!(error instanceof UpstreamError)) {
      // A fallback that is faulty or not allowed does not fail the call.
      if (!isFallback || !(error instanceof DomainError)) throw error;
      stage.isOver = true;
      return;
    }
    this.failed.add(this.health.keyPlace(model));
    stage.failure = error;
    if (isRefusal(error)) this.refused.add(this.health.keyPlace(model));
    else if (error.retryable) {
      stage.tries += 1;
      stage.isOver = stage.tries >= attempts;
    } else if (MODEL_FAILURES.includes(error.kind)) stage.isOver = true;
    else throw this.failure(error);
  }

  /** The first model that may be tried: of those that do not cool down, or of all, with those first that were not tried. */
  private async find(
    onlyAvailable: boolean,
    mayBe: (stage: Stage<M>) => boolean = () => true,
  ): Promise<Chosen<M> | undefined> {
    const stages = this.stages ?? [];
    const order = onlyAvailable
      ? stages
      : stages.toSorted((one, other) => Number(!!one.failure) - Number(!!other.failure));
    for (const stage of order) {
      if (stage.isOver || !mayBe(stage)) continue;
      const model = await this.modelOf(stage);
      if (!this.isLargeEnough(stage)) continue;
      const keys = model && this.keysOf(model);
      if (!keys || keys.length === 0) {
        stage.isOver = true;
        continue;
      }
      const open = onlyAvailable ? keys.filter((one) => this.health.isAvailable(one)) : keys;
      const fresh = open.filter((one) => !this.failed.has(this.health.keyPlace(one)));
      const chosen = this.health.choose(fresh.length > 0 ? fresh : open);
      if (chosen) return { stage, model: chosen };
    }
    return undefined;
  }

  private isLargeEnough({ id, model }: Stage<M>): boolean {
    const { exceededWindow } = this;
    if (exceededWindow === undefined || id === undefined) return true;
    return (model?.contextWindow ?? 0) > exceededWindow;
  }

  /** The model with each key that was not refused in this call. */
  private keysOf(model: M): readonly M[] {
    // Variants have the type of their model.
    const keys = (model.variants ?? [model]) as readonly M[];
    return keys.filter((one) => !this.refused.has(this.health.keyPlace(one)));
  }

  private async modelOf(stage: Stage<M>): Promise<M | undefined> {
    if (stage.model) return stage.model;
    const { requested, fallback, suits } = this.options;
    if (stage.id === undefined) {
      stage.model = await requested(stage.tries + 1);
      return stage.model;
    }
    const first = this.stages?.[0];
    const about = first && (await this.modelOf(first));
    if (!about) return undefined;
    const candidate = await fallback(about, stage.id);
    stage.model = candidate && suits(candidate, about) ? candidate : undefined;
    return stage.model;
  }

  private hasOtherKey(one: M, other: M): boolean {
    return this.health.keyPlace(one) !== this.health.keyPlace(other);
  }

  /** The failure of the requested model, unless only a later failure may pass. */
  private failure(last: unknown): unknown {
    const first = this.stages?.[0]?.failure;
    if (!first) return last;
    return last instanceof UpstreamError && last.retryable && !first.retryable ? last : first;
  }
}

/** Failures that the same model repeats, whatever key it is called with, and that another model need not have. */
const MODEL_FAILURES: readonly UpstreamErrorKind[] = [
  'not-found',
  'connection',
  'timeout',
  'protocol',
];

/** Failures that another key can help at once. */
function isOfKey(error: UpstreamError): boolean {
  return isRefusal(error) || error.kind === 'rate-limit' || error.retryAfterMs !== undefined;
}
