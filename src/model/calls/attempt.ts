import { randomUUID } from 'node:crypto';
import type { UpstreamKind } from '../../platform/observability/index.js';
import { OutboundError } from '../../platform/outbound/index.js';
import {
  ATTRIBUTE,
  modelTraceparent,
  OPERATION,
  providerName,
  recordedText,
  recordsContent,
  startSpan,
} from '../../platform/tracing/index.js';
import type { Span } from '../../platform/tracing/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { BilledUsage, ChatPart, Usage } from '../../provider/index.js';
import { groupIdsOf } from '../../platform/access/index.js';
import type {
  AuxiliaryKind,
  Feature,
  MediaUnits,
  ModelUser,
  NearestLimits,
  UsageEntry,
} from '../../usage/index.js';
import { tokensOfCharacters, wideCharactersIn } from '../model-window.js';
import type { ResolvedModel } from '../model.resolver.js';
import { recordedMessages } from './recorded-messages.js';

/** The parameters of an attempt. */
export interface AttemptStart {
  readonly use: ModelUse;
  readonly kind: UpstreamKind;
  /** The kind in the usage ledger where it differs from the kind of call. */
  readonly auxiliary?: AuxiliaryKind | undefined;
  /** The name of the model that was asked for. */
  readonly requestedModel: string;
  /** The model that is called. */
  readonly model: ResolvedModel;
  /** The number of the attempt, from 1. */
  readonly number: number;
  /** Estimates the tokens of the request; called only when the service does not report them. */
  readonly sentTokens: () => number;
  /** The id of its reservation, which its row in the usage ledger must have. */
  readonly reservation?: string | undefined;
  /** The span of the work that makes the call, which may wait in a queue meanwhile. */
  readonly span?: Span | undefined;
  /** What is sent, for the traces of tenants that record content. */
  readonly request?: unknown;
}

/** The tokens that an attempt has used. */
export interface UsedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** What the service charges apart. */
  readonly billed: BilledUsage;
  /** The service did not report all of them. */
  readonly estimated: boolean;
}

/** Characters of an answer that are kept for its span. */
const MAX_OUTPUT_CHARS = 30_000;

const OPERATIONS: Readonly<Record<UpstreamKind, string>> = {
  chat: OPERATION.chat,
  embedding: OPERATION.embeddings,
  rerank: OPERATION.rerank,
  media: OPERATION.generateContent,
  transcript: OPERATION.transcription,
  moderation: OPERATION.moderation,
  list: 'list',
};

/** Failures after which a service may have worked on the request, although no part of an answer has come. */
const READ_BY_THEN: readonly UpstreamError['kind'][] = [
  'timeout',
  'aborted',
  'cut',
  'content',
  'protocol',
];

const NOTHING: UsedTokens = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  billed: {},
  estimated: false,
};

/** A running call of a model service. Reading parts allocates nothing. */
export class Attempt {
  readonly startedAt = Date.now();
  private readonly started = performance.now();
  private usage: Usage | undefined;
  private narrow = 0;
  private wide = 0;
  private isFinished = false;
  private units: MediaUnits | undefined;
  firstTokenMs: number | undefined;
  durationMs = 0;
  /** `ok`, `aborted`, or what went wrong: `error` or the kind of the UpstreamError. */
  outcome = 'ok';
  hasEnded = false;
  /** Parameters that the service refuses and that were not sent, although a caller may have set them. */
  leftOut: readonly string[] = [];
  private error: unknown;
  private readonly span: Span | undefined;
  private readonly recordsContent: boolean;
  private finishReason: string | undefined;
  /** Text of the answer, kept only where it is recorded. */
  private output = '';

  constructor(readonly start: AttemptStart) {
    const { model, kind, number, requestedModel, use } = start;
    const operation = OPERATIONS[kind];
    this.span = startSpan(`${operation} ${model.modelName}`, {
      kind: 'client',
      parent: start.span,
      attributes: () => ({
        [ATTRIBUTE.operation]: operation,
        [ATTRIBUTE.provider]: providerName(model.providerCode),
        [ATTRIBUTE.requestModel]: model.modelName,
        [ATTRIBUTE.requestedModel]: requestedModel,
        [ATTRIBUTE.attempt]: number,
        [ATTRIBUTE.serverAddress]: URL.parse(model.connection.address)?.hostname,
        [ATTRIBUTE.tenantId]: use.caller.tenantId,
        [ATTRIBUTE.userId]: String(use.caller.userId),
        [ATTRIBUTE.agentId]: use.agentId === undefined ? undefined : String(use.agentId),
      }),
    });
    this.recordsContent = recordsContent(this.span, use.caller.tenantId);
    if (this.recordsContent) {
      const messages = recordedMessages(start.request);
      this.span?.set({ [ATTRIBUTE.inputMessages]: messages });
    }
  }

  /** `traceparent` for the service, where the operator sends it. */
  get traceparent(): string | undefined {
    return modelTraceparent(this.span);
  }

  /** Records the parts of a stream. */
  read(parts: readonly ChatPart[]): void {
    for (const part of parts) {
      switch (part.type) {
        case 'text-delta':
        case 'reasoning-delta':
          this.firstTokenMs ??= this.elapsedMs;
          this.write(part.text);
          break;
        case 'tool-call':
          this.firstTokenMs ??= this.elapsedMs;
          this.write(part.toolCall.name);
          this.write(part.toolCall.arguments);
          break;
        case 'usage':
          this.usage = part.usage;
          break;
        case 'finish':
          this.isFinished = true;
          this.finishReason = part.reason;
          break;
        case 'provider-state':
          break;
      }
    }
  }

  /** Records the usage of a call with one answer. */
  answered(usage: Usage | undefined, written = ''): void {
    this.usage = usage;
    this.write(written);
    this.isFinished = true;
  }

  /** A medium that was made, or a sound that was read, for which a service may report tokens as well. */
  produced(units: MediaUnits, usage?: Usage): void {
    this.units = units;
    this.usage = usage;
    this.isFinished = true;
  }

  /** A reader that leaves after the end mark has received the complete answer. */
  end(how: 'whole' | 'left' | { readonly error: unknown }): void {
    this.durationMs = this.elapsedMs;
    this.hasEnded = true;
    if (typeof how === 'object') {
      this.error = how.error;
      this.outcome = how.error instanceof UpstreamError ? how.error.kind : 'error';
    } else if (how === 'left' && !this.isFinished) this.outcome = 'aborted';
    if (this.span?.isSampled) this.describe(this.span);
    this.span?.end(this.isOk ? undefined : this.outcome);
  }

  private describe(span: Span): void {
    const { tokens, finishReason, firstTokenMs, output } = this;
    span.set({
      [ATTRIBUTE.inputTokens]: tokens.inputTokens,
      [ATTRIBUTE.outputTokens]: tokens.outputTokens,
      [ATTRIBUTE.cacheReadTokens]: tokens.cachedTokens || undefined,
      [ATTRIBUTE.cacheCreationTokens]: tokens.billed.cacheWriteTokens,
      [ATTRIBUTE.reasoningTokens]: tokens.reasoningTokens || undefined,
      [ATTRIBUTE.estimated]: tokens.estimated,
      [ATTRIBUTE.finishReasons]: finishReason === undefined ? undefined : [finishReason],
      [ATTRIBUTE.stream]: firstTokenMs === undefined ? undefined : true,
      [ATTRIBUTE.timeToFirstChunk]: firstTokenMs === undefined ? undefined : firstTokenMs / 1_000,
      [ATTRIBUTE.outputMessages]: output === '' ? undefined : recordedText('assistant', output),
    });
  }

  get isOk(): boolean {
    return this.outcome === 'ok';
  }

  /** The media units to pay; empty where the call failed. */
  get mediaUnits(): MediaUnits {
    return (this.isOk && this.units) || {};
  }

  /**
   * The reported tokens; missing figures are estimated from the request and the answer. Nothing for a call that the service
   * has refused before any token.
   */
  get tokens(): UsedTokens {
    const { usage, start } = this;
    const isPaidByUnits = start.kind === 'media' || start.kind === 'transcript';
    if (!usage && (isPaidByUnits || !this.wasTaken)) return NOTHING;
    const isChat = start.kind === 'chat';
    // Models that write nothing read all of their tokens.
    const inputTokens = usage?.inputTokens ?? (isChat ? undefined : usage?.totalTokens);
    const outputTokens = usage?.outputTokens ?? (isChat ? undefined : 0);
    return {
      inputTokens: inputTokens ?? start.sentTokens(),
      outputTokens: outputTokens ?? tokensOfCharacters(this.narrow, this.wide),
      cachedTokens: usage?.cachedInputTokens ?? 0,
      reasoningTokens: usage?.reasoningTokens ?? 0,
      billed: usage?.billed ?? {},
      estimated: inputTokens === undefined || outputTokens === undefined,
    };
  }

  /** The row of the attempt in the usage ledger. */
  toEntry(): UsageEntry {
    const { use, requestedModel, model, kind, auxiliary, number, reservation } = this.start;
    const { caller, feature, agentId } = use;
    const { images, seconds, characters } = this.mediaUnits;
    const { tokens, firstTokenMs } = this;
    const { billed } = tokens;
    const groupIds = groupIdsOf(caller);
    return {
      id: reservation ?? randomUUID(),
      tenant_id: model.tenantId,
      call_time: new Date(this.startedAt).toISOString(),
      user_id: caller.userId,
      api_key_id: caller.apiKey?.id ?? null,
      ...(groupIds.length > 0 && { group_ids: groupIds }),
      ...(caller.tags && { tags: [...caller.tags] }),
      door: caller.origin,
      feature,
      agent_id: agentId ?? null,
      asked_model: requestedModel,
      model_id: model.id,
      model_name: model.modelName,
      provider_code: model.providerCode,
      kind: auxiliary ?? kind,
      attempt: number,
      outcome: this.outcome,
      estimated: tokens.estimated,
      input_tokens: tokens.inputTokens,
      output_tokens: tokens.outputTokens,
      cached_tokens: tokens.cachedTokens,
      reasoning_tokens: tokens.reasoningTokens,
      cache_write_tokens: billed.cacheWriteTokens ?? 0,
      cache_write_hour_tokens: billed.cacheWriteHourTokens ?? 0,
      audio_input_tokens: billed.audioInputTokens ?? 0,
      audio_output_tokens: billed.audioOutputTokens ?? 0,
      web_searches: billed.webSearches ?? 0,
      code_runs: billed.codeRuns ?? 0,
      service_tier: billed.serviceTier ?? null,
      service_cost: billed.serviceCost ?? null,
      service_currency: billed.serviceCurrency ?? null,
      images: images ?? 0,
      seconds: seconds ?? 0,
      characters: characters ?? 0,
      price_version: model.priceVersion ?? null,
      first_token_ms: firstTokenMs === undefined ? null : Math.round(firstTokenMs),
      duration_ms: Math.round(this.durationMs),
      ...(reservation !== undefined && { limited: true }),
    };
  }

  private get wasTaken(): boolean {
    if (this.isOk || this.narrow + this.wide > 0) return true;
    const { error } = this;
    if (error === undefined) return true;
    if (!(error instanceof UpstreamError) || !READ_BY_THEN.includes(error.kind)) return false;
    const isUnconnected =
      error.cause instanceof OutboundError && error.cause.kind === 'timeout-connect';
    return error.status === undefined && !isUnconnected;
  }

  private get elapsedMs(): number {
    return performance.now() - this.started;
  }

  private write(text: string): void {
    if (this.recordsContent && this.output.length < MAX_OUTPUT_CHARS) this.output += text;
    const wide = wideCharactersIn(text);
    this.wide += wide;
    this.narrow += text.length - wide;
  }
}

/** The reported part of an attempt; its outcome changes until it has ended. */
interface TrailedAttempt {
  readonly start: {
    readonly number: number;
    readonly requestedModel: string;
    readonly model: {
      readonly id: number;
      readonly modelName: string;
      readonly providerCode: string;
    };
  };
  readonly outcome: string;
  readonly hasEnded: boolean;
  readonly leftOut?: readonly string[];
}

/** An attempt of a call, as callers see it. */
export interface MadeAttempt {
  readonly model: string;
  readonly provider: string;
  /** The outcome as in the usage ledger; `running` until the attempt ends. */
  readonly outcome: string;
}

/** The attempts that were made for one answer, in their order. */
export class CallTrail {
  private readonly entries: TrailedAttempt[] = [];
  /** The nearest limits; undefined where none applies. */
  nearestLimits: NearestLimits | undefined;
  /** Rate limits of the service that was called last, by header name. */
  upstreamLimits: Readonly<Record<string, string>> = {};

  add(attempt: TrailedAttempt): void {
    this.entries.push(attempt);
  }

  get size(): number {
    return this.entries.length;
  }

  /** The name of the model that answers: that of the last attempt. Undefined before the first. */
  get modelName(): string | undefined {
    return this.entries.at(-1)?.start.model.modelName;
  }

  /** Whether a call was made again, or another model was called than the one that was asked for. */
  get isEventful(): boolean {
    return this.entries.some(
      ({ start }) => start.number > 1 || start.model.modelName !== start.requestedModel,
    );
  }

  /** Parameters that the last attempt did not send, because its service refuses them. */
  get leftOut(): readonly string[] {
    return this.entries.at(-1)?.leftOut ?? [];
  }

  hasCalled(modelId: number): boolean {
    return this.entries.some(({ start }) => start.model.id === modelId);
  }

  get attempts(): readonly MadeAttempt[] {
    return this.entries.map(({ start, outcome, hasEnded }) => ({
      model: start.model.modelName,
      provider: start.model.providerCode,
      outcome: hasEnded ? outcome : 'running',
    }));
  }
}

/** The caller and purpose of a model call, which the usage ledger records. */
export interface ModelUse {
  readonly caller: ModelUser;
  readonly feature: Feature;
  readonly agentId?: number | undefined;
  /** Records each attempt. */
  readonly trail?: CallTrail | undefined;
}
