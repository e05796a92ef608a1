import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { UserCallers } from '../../identity/index.js';
import { CallTrail, ModelResolver, UpstreamCalls } from '../../model/index.js';
import { LimitReachedError } from '../../usage/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { DomainError } from '../../platform/error/index.js';
import { ProviderUnavailableError, readToolCall, UpstreamError } from '../../provider/index.js';
import type {
  ChatCall,
  ChatPart,
  Finish,
  ProviderState,
  ToolCall,
  Usage,
} from '../../provider/index.js';
import { MODEL_CALL_LIMITS } from '../context/compaction.js';
import type { ModelRequest } from '../context/context.builder.js';
import { countedUsage, writtenIn } from '../context/rendering.js';
import { costOf, totalCost } from '../protocol/run.state.js';
import type { RunClaim } from '../protocol/run.state.js';
import { newId, sha256 } from '../protocol/values.js';
import type { NewEffect } from '../../effect/index.js';
import { storableText } from '../../platform/database/index.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { EventDraft } from '../store/event.catalogue.js';
import { EventRepository } from '../store/event.repository.js';
import type { ModelCallEnd, ModelCallStart } from '../store/message.repository.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { RunLedger, RunWriter } from '../store/run.ledger.js';
import { RunStore } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import type { MaskedText } from '../store/secret-mask.js';
import { ToolRegistry } from '../tool/tools.js';
import { callerOf } from './run.context.js';
import type { RunContext, RunLease } from './run.context.js';

/** A call of the model whose beginning is stored. */
interface StartedCall {
  /** The call's id, as events name it. */
  readonly effectId: string;
  /** Estimated tokens of the request, counted from the beginning of the call. */
  readonly sentTokens: number;
}

/** One attempt of a call, and what the model has written in it so far. */
export interface ModelAnswer extends StartedCall {
  readonly iteration: number;
  readonly attempt: number;
  /** The number of the run's last event when the attempt began. */
  readonly sequence: number;
  text: string;
  thinking: string;
  readonly toolCalls: ToolCall[];
  finish: Finish;
  providerState?: ProviderState;
  usage: Usage | undefined;
  durationMs: number;
  /** The model that answers: the run's model, or a fallback after its failure. */
  model?: ResolvedChatModel;
}

export type ModelResult =
  | { readonly kind: 'answer'; readonly answer: ModelAnswer }
  /** The answer contains tool calls that cannot be parsed. */
  | { readonly kind: 'unusable'; readonly answer: ModelAnswer; readonly problem: string }
  /** The service failed in a way that may pass, even after retries, or its provider is disabled. */
  | { readonly kind: 'unavailable'; readonly error: DomainError }
  | { readonly kind: 'refused'; readonly error: UpstreamError }
  /** The request exceeds the window of the model. */
  | { readonly kind: 'overflow'; readonly error: UpstreamError };

interface CallEnd extends Omit<ModelCallEnd, 'cost'> {
  readonly model: ResolvedChatModel;
}

/** Codes of model.turn.abandoned, which existing clients parse. */
const ABANDONED: Readonly<Partial<Record<UpstreamError['kind'], string>>> = {
  timeout: 'MODEL_DEADLINE_EXCEEDED',
  content: 'PROTOCOL_REJECTED',
  protocol: 'PROTOCOL_REJECTED',
  aborted: 'PROVIDER_CANCELLED',
  connection: 'PROVIDER_START_FAILURE',
};

function abandonedCode(failure: UpstreamError | LimitReachedError): string {
  if (failure instanceof LimitReachedError) return 'PROVIDER_START_FAILURE';
  return ABANDONED[failure.kind] ?? 'PROVIDER_ERROR';
}

const MAX_TRIES = 3;
const BACKOFF = 4;
/** Pause before the second try; each further one is BACKOFF times as long. */
export const MODEL_RETRY = { pauseMs: 1_000 };
const MAX_RETRY_AFTER_MS = 60_000;
const MAX_PROVIDER_ID_CHARS = 200;
const MAX_TOOL_NAME_CHARS = 100;

const CUT =
  'Your last answer was cut off before it was finished, and nothing of it was carried out. Go on in smaller steps.';
const EMPTY = 'Your last answer was empty. Go on with the task, or say that it is done.';

/**
 * Calls the model of a run and stores what it answers: the deltas while they arrive, then the message with its tool
 * calls before any of them begins, and the usage in the call's row and the run's totals. The estimated request counts
 * from the beginning of a call, so that a call whose process dies is not free.
 */
@Injectable()
export class ModelCalls {
  constructor(
    private readonly store: RunStore,
    private readonly events: EventRepository,
    private readonly registry: ToolRegistry,
    private readonly upstream: UpstreamCalls,
    private readonly mask: SecretMask,
    private readonly models: ModelResolver,
    private readonly callers: UserCallers,
  ) {}

  /**
   * Calls the model with up to three tries. The run's iteration is counted with the first one. The answer itself is
   * stored by `record`. Fails with FencedError, or with an abort of the held run.
   */
  async call(context: RunContext, request: ModelRequest): Promise<ModelResult> {
    const iteration = context.run.iteration + 1;
    const trail = new CallTrail();
    for (let attempt = 1; ; attempt += 1) {
      const unavailable = await this.refresh(context);
      if (unavailable) return unavailable;
      const answer = await this.begin(context, request, { iteration, attempt });
      try {
        await this.receive(context, request, { answer, trail });
        return { kind: 'answer', answer };
      } catch (error) {
        const failure = callFailure(context.lease, error);
        await this.abandon(context, answer, failure);
        if (failure instanceof LimitReachedError) return { kind: 'unavailable', error: failure };
        if (failure.kind === 'content') {
          return { kind: 'unusable', answer, problem: failure.message };
        }
        if (failure.kind === 'context-length') return { kind: 'overflow', error: failure };
        const result = failureOf(failure);
        if (result.kind === 'refused' || attempt >= MAX_TRIES) return result;
        await this.waitToRetry(context.lease, answer, failure);
      }
    }
  }

  /**
   * Resolves the model of the run again: a changed key, setting or grant applies from the next call on. Reports that the
   * model is unavailable while its provider is disabled or missing; fails when the model itself is gone or the user may no
   * longer use it.
   */
  async refresh(
    context: RunContext,
  ): Promise<Extract<ModelResult, { kind: 'unavailable' }> | undefined> {
    try {
      const caller = await callerOf(this.callers, context.run);
      const model = await this.models.granted(caller, await this.models.current(context.model));
      context.model = model;
      this.learnKey(context, model);
      return undefined;
    } catch (error) {
      if (!(error instanceof ProviderUnavailableError)) throw error;
      return { kind: 'unavailable', error };
    }
  }

  /** Registers the model's key for masking in everything that is stored. */
  private learnKey(context: RunContext, { connection }: ResolvedChatModel): void {
    const { credential } = connection;
    if (credential === undefined || context.secrets.includes(credential)) return;
    this.mask.learn([credential]);
    context.secrets = [...context.secrets, credential];
  }

  /**
   * Stores a whole answer. 'next' when tool calls or another model call follow. An answer without tool calls is the last
   * one: `complete` says what follows from it in the same transaction, so that no crash can come in between.
   */
  async record<Result>(
    { lease, model }: RunContext,
    answer: ModelAnswer,
    complete: (writer: RunWriter) => Promise<Result>,
  ): Promise<Result | 'next'> {
    return this.store.ledger.asOwner(lease.claim, async (writer) => {
      const { effectId, text, thinking, finish, usage, durationMs, providerState } = answer;
      const isWhole = finish.reason === 'stop' || finish.reason === 'tool-calls';
      const effects = isWhole ? this.effectsOf(writer.run, answer.toolCalls) : [];
      const isEmpty = effects.length === 0 && text.trim() === '';
      const messageId = await this.store.messages.append(writer.run, {
        role: 'ASSISTANT',
        content: text,
        ...(thinking !== '' && { thinking }),
        toolCalls: effects.map(({ toolCallId, toolName, argumentsJson }) => ({
          toolCallId,
          toolName,
          arguments: argumentsJson,
        })),
        finishReason: finish.reason,
        ...(usage && { usage: usageOf(usage) }),
        metadata: { effectId, ...((!isWhole || isEmpty) && { incomplete: true }) },
        providerState,
      });
      if (effects.length > 0) await this.store.effects.prepare(writer.run, effects);
      announce(writer, answer, { effects, messageId });
      const used = countedUsage(usage, answer);
      writer.set({ contextUsed: used.inputTokens });
      const end = { state: 'DONE', durationMs, used, model: answer.model ?? model } as const;
      await this.endCall(writer, answer, end);
      if (effects.length > 0) return 'next';
      if (isWhole && !isEmpty) return complete(writer);
      await this.note(writer, isEmpty && isWhole ? EMPTY : CUT);
      return 'next';
    });
  }

  /** Stores the text of an answer whose tool calls cannot be read, and a note with the problem for the model. */
  async recordUnusable(
    { lease }: RunContext,
    { answer, problem }: Extract<ModelResult, { kind: 'unusable' }>,
  ): Promise<void> {
    const { effectId, text, thinking } = answer;
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      await this.store.messages.append(writer.run, {
        role: 'ASSISTANT',
        content: text,
        ...(thinking !== '' && { thinking }),
        finishReason: 'error',
        metadata: { effectId, incomplete: true },
      });
      await this.note(
        writer,
        `Your last answer could not be used, and nothing of it was carried out: ${this.mask.apply(problem)} Call the tool again with complete arguments.`,
      );
    });
  }

  /** Stores what is left out of the context from now on, and the usage of the summary where a model wrote one. */
  async recordCompaction(
    { lease, model }: RunContext,
    { compaction, tokens: afterTokens }: ModelRequest,
  ): Promise<void> {
    if (!compaction) return;
    const { state, usage, beforeTokens, prunedCalls, summarised } = compaction;
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      writer.set({ compaction: state });
      const data = { beforeTokens, afterTokens, prunedCalls, summarised };
      writer.event('context.compacted', data);
      if (!usage) return;
      const start = { attempt: 1, purpose: 'SUMMARY', sentTokens: usage.inputTokens } as const;
      const call = await this.beginCall(writer, start);
      await this.endCall(writer, call, { state: 'DONE', used: usage, model });
    });
  }

  /** Stores that a try begins. */
  private async begin(
    { lease }: RunContext,
    { contextLimit, tokens: sentTokens }: ModelRequest,
    { iteration, attempt }: Pick<ModelAnswer, 'iteration' | 'attempt'>,
  ): Promise<ModelAnswer> {
    return this.store.ledger.asOwner(lease.claim, async (writer) => {
      writer.set({ iteration, contextLimit });
      const call = await this.beginCall(writer, { attempt, purpose: 'TURN', sentTokens });
      const data = { effectId: call.effectId, iteration, attempt };
      writer.event('model.turn.started', data, { stepId: stepIdOf(iteration) });
      return {
        ...call,
        iteration,
        attempt,
        sequence: writer.run.nextEventSequence,
        text: '',
        thinking: '',
        toolCalls: [],
        finish: { reason: 'other' },
        usage: undefined,
        durationMs: 0,
      };
    });
  }

  private async receive(
    context: RunContext,
    request: ModelRequest,
    { answer, trail }: { readonly answer: ModelAnswer; readonly trail: CallTrail },
  ): Promise<void> {
    const { lease, caller, model } = context;
    const { effectId, iteration, sequence } = answer;
    const { claim, signal } = lease;
    const log = new DeltaLog(this.store.ledger, this.events, {
      claim,
      effectId,
      iteration,
      sequence,
      mask: this.mask,
    });
    const startedAt = performance.now();
    try {
      const callOf = (now: ResolvedChatModel): ReturnType<typeof chatCall> => {
        answer.model = now;
        this.learnKey(context, now);
        return chatCall(now, request);
      };
      const stream = this.upstream.stream(model, callOf, {
        use: { caller, feature: 'harness', trail },
        limits: MODEL_CALL_LIMITS,
        signal,
        // The model was resolved before the attempt was stored; `call` retries.
        current: () => model,
        firstAttempt: trail.size + 1,
      });
      for await (const parts of stream) for (const part of parts) keep(part, answer, log);
      await log.flush();
    } catch (error) {
      await log.drop();
      throw error;
    } finally {
      answer.durationMs = performance.now() - startedAt;
    }
  }

  private async abandon(
    { lease, model }: RunContext,
    answer: ModelAnswer,
    failure: UpstreamError | LimitReachedError,
  ): Promise<void> {
    const { effectId, usage, durationMs } = answer;
    const errorCode = lease.cause === 'cancelled' ? 'RUN_CANCELLED' : abandonedCode(failure);
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      const state = lease.signal.aborted ? 'ABANDONED' : 'FAILED';
      const used = wasTaken(answer, failure) ? countedUsage(usage, answer) : undefined;
      const data = { effectId, outcome: 'ABANDONED', code: errorCode } as const;
      writer.event('model.turn.abandoned', data, { stepId: stepIdOf(writer.run.iteration) });
      const end = { state, durationMs, errorCode, used, model: answer.model ?? model } as const;
      await this.endCall(writer, answer, end);
    });
    if (lease.signal.aborted) throw failure;
  }

  private async waitToRetry(
    lease: RunLease,
    { effectId, iteration, attempt }: ModelAnswer,
    { kind, retryAfterMs = 0 }: UpstreamError,
  ): Promise<void> {
    const backoff = MODEL_RETRY.pauseMs * BACKOFF ** (attempt - 1);
    // A jitter of 20 % keeps many runs from retrying at the same moment.
    const spread = backoff * (0.8 + Math.random() * 0.4);
    const delayMs = Math.round(Math.max(spread, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)));
    const failureKind = this.mask.apply(kind);
    await this.store.ledger.append(lease.claim, [
      {
        type: 'model.retrying',
        data: { effectId, retry: attempt, maxRetries: MAX_TRIES - 1, failureKind, delayMs },
        subject: { stepId: stepIdOf(iteration) },
      },
    ]);
    await delay(delayMs, undefined, { signal: lease.signal });
  }

  private async beginCall(
    writer: RunWriter,
    call: Omit<ModelCallStart, 'iteration'>,
  ): Promise<StartedCall> {
    const { iteration, inputTokens } = writer.run;
    const { sentTokens } = call;
    const effectId = await this.store.modelCalls.start(writer.run, { ...call, iteration });
    writer.set({ inputTokens: inputTokens + sentTokens });
    return { effectId, sentTokens };
  }

  /** Replaces the initial estimate with the actual usage of the call. */
  private async endCall(
    writer: RunWriter,
    { effectId, sentTokens }: StartedCall,
    end: CallEnd,
  ): Promise<void> {
    const { model, ...how } = end;
    const { used } = how;
    const { run } = writer;
    const cost = used && costOf(used, model);
    await this.store.modelCalls.end(run, effectId, { ...how, cost });
    writer.set({
      inputTokens: run.inputTokens - sentTokens + (used?.inputTokens ?? 0),
      outputTokens: run.outputTokens + (used?.outputTokens ?? 0),
      cachedTokens: run.cachedTokens + (used?.cachedInputTokens ?? 0),
      cost: cost === undefined ? run.cost : totalCost(run.cost ?? 0, cost),
    });
    if (used) announceUsage(writer);
  }

  private effectsOf(run: HarnessRun, toolCalls: readonly ToolCall[]): NewEffect[] {
    return toolCalls.map((call, ordinal) => {
      const argumentsJson = storableArguments(call);
      return {
        toolCallId: newId(),
        iteration: run.iteration,
        ordinal,
        providerCallId: call.id.slice(0, MAX_PROVIDER_ID_CHARS),
        toolName: call.name.slice(0, MAX_TOOL_NAME_CHARS),
        effectClass: this.classOf(call),
        argumentsJson,
        argumentsSha256: sha256(argumentsJson),
        input: call.input,
      };
    });
  }

  /** A call that is invalid or of an unknown tool changes nothing: it is answered with an error. */
  private classOf({ name, invalid }: ToolCall): NewEffect['effectClass'] {
    return (invalid ? undefined : this.registry.find(name)?.effectClass) ?? 'READ';
  }

  private async note(writer: RunWriter, content: string): Promise<void> {
    const metadata = { kind: 'NOTE' };
    await this.store.messages.append(writer.run, { role: 'CONTROL', content, metadata });
  }
}

function chatCall(
  model: ResolvedChatModel,
  { messages, tools }: ModelRequest,
): Omit<ChatCall, 'model'> {
  return {
    messages,
    ...(tools.length > 0 && { tools, toolChoice: 'auto' }),
    ...(model.maxOutput !== undefined && { maxTokens: model.maxOutput }),
  };
}

/**
 * PostgreSQL stores neither lone surrogates nor NUL. In JSON they can be escaped; in invalid arguments they are replaced, and where
 * that would make them valid, the whole text is stored as a JSON string, so that the call stays invalid.
 */
function storableArguments(call: ToolCall): string {
  const { arguments: text, input } = call;
  if (call.invalid) {
    const stored = storableText(text);
    return readToolCall({ ...call, arguments: stored }).invalid ? stored : JSON.stringify(stored);
  }
  return text.isWellFormed() ? text : JSON.stringify(input);
}

function keep(part: ChatPart, answer: ModelAnswer, log: DeltaLog): void {
  switch (part.type) {
    case 'text-delta':
      answer.text += part.text;
      log.add('assistant.text.delta', part.text);
      break;
    case 'reasoning-delta':
      answer.thinking += part.text;
      log.add('assistant.thinking.delta', part.text);
      break;
    case 'tool-call':
      answer.toolCalls.push(part.toolCall);
      break;
    case 'provider-state':
      answer.providerState = part.providerState;
      break;
    case 'usage':
      answer.usage = part.usage;
      break;
    case 'finish':
      answer.finish = part;
      break;
  }
}

function announce(
  writer: RunWriter,
  { effectId, text, finish }: ModelAnswer,
  { effects, messageId }: { readonly effects: readonly NewEffect[]; readonly messageId: string },
): void {
  const stepId = stepIdOf(writer.run.iteration);
  for (const [index, { toolCallId, toolName: name, argumentsJson }] of effects.entries()) {
    const data = { effectId, index, name, arguments: argumentsJson };
    writer.event('assistant.tool.complete', data, { stepId, toolCallId });
  }
  writer.event(
    'assistant.completed',
    { effectId, messageId, toolCallCount: effects.length, text, finishReason: finish.reason },
    { stepId },
  );
}

function announceUsage(writer: RunWriter): void {
  const { inputTokens, outputTokens, cachedTokens, cost, contextUsed, contextLimit } = writer.run;
  writer.event('usage.updated', {
    inputTokens,
    outputTokens,
    cachedTokens,
    ...(cost !== null && { cost }),
    ...(contextUsed !== null && { contextUsed }),
    ...(contextLimit !== null && { contextLimit }),
  });
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage): Record<string, number> {
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  };
}

/** Rethrows what is neither a failure of the service nor a limit, and everything once the run is lost. */
function callFailure(
  { signal, cause }: RunLease,
  error: unknown,
): UpstreamError | LimitReachedError {
  if (signal.aborted && cause === 'lost') throw error;
  if (error instanceof UpstreamError || error instanceof LimitReachedError) return error;
  throw error;
}

/** Failures after which a service may have read the request, although nothing of an answer has come. */
const READ_BY_THEN: readonly UpstreamError['kind'][] = [
  'timeout',
  'aborted',
  'cut',
  'content',
  'protocol',
];

/** Whether the service has worked on the request, so that it counts. */
function wasTaken(answer: ModelAnswer, failure: UpstreamError | LimitReachedError): boolean {
  if (failure instanceof LimitReachedError) return false;
  const { kind } = failure;
  return answer.usage !== undefined || writtenIn(answer) !== '' || READ_BY_THEN.includes(kind);
}

const PASSING: readonly UpstreamError['kind'][] = [
  'timeout',
  'connection',
  // Asked for again, because nothing of a cut answer was stored.
  'cut',
  'overloaded',
  'rate-limit',
];

/** Whether a failed call may be retried or was refused by the service. */
export function failureOf(error: UpstreamError): {
  readonly kind: 'unavailable' | 'refused';
  readonly error: UpstreamError;
} {
  const mayPass = error.retryable || (PASSING.includes(error.kind) && !error.isExhausted);
  return { kind: mayPass ? 'unavailable' : 'refused', error };
}

const DELTA_CHARS = 512;
const MERGE_MS = 100;
/** Number of events from which deltas are merged for longer; from LAST_DELTA on they are not stored. */
const MERGE_LONGER_FROM = 15_000;
const MERGE_LONGER_MS = 2_000;
const LAST_DELTA = 20_000;

const DELTA_TYPES = ['assistant.thinking.delta', 'assistant.text.delta'] as const;
type DeltaType = (typeof DELTA_TYPES)[number];

interface Delta {
  readonly type: DeltaType;
  delta: string;
}

interface DeltaContext {
  readonly claim: RunClaim;
  readonly effectId: string;
  readonly iteration: number;
  /** The number of the run's last event. */
  readonly sequence: number;
  readonly mask: SecretMask;
}

/**
 * Stores the deltas of a model call while they arrive: merged to one event per 100 ms or 512 characters, in their order,
 * without the secrets of the service. A failed write is thrown by the next `add` or by `flush`.
 */
export class DeltaLog {
  private readonly masked: Readonly<Record<DeltaType, MaskedText>>;
  private pending: Delta[] = [];
  private characters = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | undefined;
  private sequence: number;
  private warned = false;

  constructor(
    private readonly ledger: RunLedger,
    private readonly events: EventRepository,
    private readonly context: DeltaContext,
  ) {
    this.sequence = context.sequence;
    const { mask } = context;
    this.masked = {
      'assistant.text.delta': mask.pieces(),
      'assistant.thinking.delta': mask.pieces(),
    };
  }

  add(type: DeltaType, delta: string): void {
    if (this.failure) throw this.failure;
    this.put(type, this.masked[type].add(delta));
    if (this.characters >= DELTA_CHARS && !this.isLong) this.write();
    else if (this.pending.length > 0) {
      this.timer ??= setTimeout(() => this.write(), this.isLong ? MERGE_LONGER_MS : MERGE_MS);
    }
  }

  /** Resolves when everything is stored. */
  async flush(): Promise<void> {
    for (const type of DELTA_TYPES) this.put(type, this.masked[type].end());
    this.write();
    await this.writing;
    if (this.failure) throw this.failure;
  }

  /** Discards what is not stored yet, for a call that has failed. */
  async drop(): Promise<void> {
    clearTimeout(this.timer);
    this.pending = [];
    await this.writing;
  }

  private put(type: DeltaType, delta: string): void {
    if (delta === '') return;
    const last = this.pending.at(-1);
    if (last?.type === type) last.delta += delta;
    else this.pending.push({ type, delta });
    this.characters += delta.length;
  }

  private get isLong(): boolean {
    return this.sequence >= MERGE_LONGER_FROM;
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.characters = 0;
    const { pending } = this;
    this.pending = [];
    if (pending.length === 0) return;
    this.writing = this.writing
      .then(() => this.store(pending))
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
      });
  }

  private async store(deltas: readonly Delta[]): Promise<void> {
    if (this.failure) return;
    const { claim, effectId, iteration } = this.context;
    if (this.sequence >= LAST_DELTA) {
      await this.warn();
      return;
    }
    const subject = { stepId: stepIdOf(iteration) };
    const drafts = deltas.map(({ type, delta }): EventDraft => ({
      type,
      data: { effectId, delta },
      subject,
    }));
    this.sequence = await this.ledger.append(claim, drafts);
  }

  /** Once for the run. */
  private async warn(): Promise<void> {
    if (this.warned) return;
    this.warned = true;
    const { claim } = this.context;
    const run = { tenantId: claim.tenantId, id: claim.runId };
    if (await this.events.has(run, 'limit.warning', LAST_DELTA)) return;
    const data = { kind: 'events', count: this.sequence, limit: LAST_DELTA };
    await this.ledger.append(claim, [{ type: 'limit.warning', data }]);
  }
}
