import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { countedCall } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { ChatCall, ChatPart, Finish, ToolCall, Usage } from '../../provider/index.js';
import type { TurnContext, TurnInput } from '../context/context.builder.js';
import { countedUsage, writtenIn } from '../context/counted.usage.js';
import { stepIdOf } from '../store/event.catalogue.js';
import { EventRepository } from '../store/event.repository.js';
import { RunLedger } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import { DeltaLog } from './delta.log.js';
import type { HeldRun } from './held.run.js';
import { ModelUsage } from './model.usage.js';
import type { BegunCall } from './model.usage.js';

/** What a model has written in one turn. */
export interface ModelAnswer {
  readonly call: BegunCall;
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: Finish;
  readonly usage: Usage | undefined;
  readonly durationMs: number;
}

/** What was written before the answer turned out to be of no use. */
export interface UnusableAnswer {
  readonly effectId: string;
  readonly text: string;
  readonly thinking: string;
  readonly problem: string;
}

export type TurnResult =
  | { readonly kind: 'answer'; readonly answer: ModelAnswer }
  | { readonly kind: 'unusable'; readonly answer: UnusableAnswer }
  /** The service failed, also when asked again, in a way that may pass. */
  | { readonly kind: 'unavailable'; readonly error: UpstreamError }
  /** The service refuses. */
  | { readonly kind: 'refused'; readonly error: UpstreamError };

/** Codes of model.turn.abandoned, which existing clients know. */
const ABANDONED: Readonly<Partial<Record<UpstreamError['kind'], string>>> = {
  timeout: 'MODEL_DEADLINE_EXCEEDED',
  content: 'PROTOCOL_REJECTED',
  protocol: 'PROTOCOL_REJECTED',
  aborted: 'PROVIDER_CANCELLED',
  connection: 'PROVIDER_START_FAILURE',
};

const TRIES = 3;
const BACKOFF = 4;
const LONGEST_RETRY_AFTER_MS = 60_000;
const CONNECT_MS = 10_000;

interface Draft {
  text: string;
  thinking: string;
  readonly toolCalls: ToolCall[];
  finish: Finish | undefined;
  usage: Usage | undefined;
}

/**
 * Asks the model once, through its chat adapter, with up to three tries. Everything that it writes is stored as it
 * comes; the answer itself is stored by the caller, in one transaction with what follows from it.
 */
@Injectable()
export class ModelTurn {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly ledger: RunLedger,
    private readonly events: EventRepository,
    private readonly usage: ModelUsage,
    private readonly metrics: Metrics,
    private readonly mask: SecretMask,
  ) {}

  /** The run's iteration is counted with the first try. Fails with FencedError, or with an abort of the held run. */
  async take(held: HeldRun, input: TurnInput, context: TurnContext): Promise<TurnResult> {
    const iteration = input.run.iteration + 1;
    for (let attempt = 1; ; attempt += 1) {
      const { call, sequence } = await this.begin(held, { iteration, attempt, context });
      const { effectId } = call;
      const draft: Draft = {
        text: '',
        thinking: '',
        toolCalls: [],
        finish: undefined,
        usage: undefined,
      };
      const started = performance.now();
      try {
        const turn = { lease: held.lease, effectId, iteration, sequence, mask: this.mask };
        const log = new DeltaLog(this.ledger, this.events, turn);
        await this.receive(held, { input, context, draft, log });
        const durationMs = performance.now() - started;
        return { kind: 'answer', answer: this.answered(call, draft, durationMs) };
      } catch (error) {
        const failure = this.failureOf(held, error);
        const durationMs = performance.now() - started;
        await this.abandon(held, { call, draft, failure, durationMs, model: input.model });
        if (failure.kind === 'content') {
          const { text, thinking } = draft;
          return {
            kind: 'unusable',
            answer: { effectId, text, thinking, problem: failure.message },
          };
        }
        const result = failedTurn(failure);
        if (result.kind === 'refused' || attempt >= TRIES) return result;
        await this.pause(held, { effectId, iteration, attempt, failure });
      }
    }
  }

  /** Writes down that a try begins; answers it and the number of the event that says so. */
  private async begin(
    held: HeldRun,
    what: { readonly iteration: number; readonly attempt: number; readonly context: TurnContext },
  ): Promise<{ call: BegunCall; sequence: number }> {
    const { iteration, attempt, context } = what;
    const { contextLimit, estimatedTokens: sentTokens } = context;
    return this.ledger.asOwner(held.lease, async (writer) => {
      writer.set({ iteration, contextLimit });
      const call = await this.usage.begin(writer, { attempt, purpose: 'TURN', sentTokens });
      const data = { effectId: call.effectId, iteration, attempt };
      writer.event('model.turn.started', data, { stepId: stepIdOf(iteration) });
      return { call, sequence: writer.run.nextEventSequence };
    });
  }

  private async receive(
    held: HeldRun,
    what: {
      readonly input: TurnInput;
      readonly context: TurnContext;
      readonly draft: Draft;
      readonly log: DeltaLog;
    },
  ): Promise<void> {
    const { input, draft, log } = what;
    const { adapter, connection, providerCode } = input.model;
    const options = {
      signal: held.signal,
      limits: {
        connectMs: CONNECT_MS,
        idleMs: this.config.HARNESS_MODEL_IDLE_SECONDS * 1_000,
        totalMs: this.config.HARNESS_MODEL_TOTAL_SECONDS * 1_000,
      },
    };
    try {
      await countedCall(this.metrics, { provider: providerCode, kind: 'chat' }, async () => {
        const stream = adapter.stream(callOf(what), connection, options);
        for await (const parts of stream) for (const part of parts) keep(part, draft, log);
      });
      await log.flush();
    } catch (error) {
      await log.drop();
      throw error;
    }
  }

  private answered(call: BegunCall, draft: Draft, durationMs: number): ModelAnswer {
    const { text, thinking, toolCalls, usage } = draft;
    const finish = draft.finish ?? { reason: 'other' };
    return { call, text, thinking, toolCalls, finish, usage, durationMs };
  }

  private failureOf(held: HeldRun, error: unknown): UpstreamError {
    // The run is no longer to be written to, or it ends: whoever holds it knows why.
    if (held.signal.aborted && held.cause !== 'stopping' && held.cause !== 'cancelled') throw error;
    if (error instanceof UpstreamError) return error;
    throw error;
  }

  private async abandon(
    held: HeldRun,
    what: {
      readonly call: BegunCall;
      readonly draft: Draft;
      readonly failure: UpstreamError;
      readonly durationMs: number;
      readonly model: ResolvedChatModel;
    },
  ): Promise<void> {
    const { call, draft, failure, durationMs, model } = what;
    const { effectId } = call;
    const code =
      held.cause === 'cancelled' ? 'RUN_CANCELLED' : (ABANDONED[failure.kind] ?? 'PROVIDER_ERROR');
    await this.ledger.asOwner(held.lease, async (writer) => {
      const state = held.signal.aborted ? 'ABANDONED' : 'FAILED';
      const used = wasTaken(draft, failure)
        ? countedUsage(draft.usage, { ...call, written: writtenIn(draft) })
        : undefined;
      const data = { effectId, outcome: 'ABANDONED', code } as const;
      writer.event('model.turn.abandoned', data, { stepId: stepIdOf(writer.run.iteration) });
      await this.usage.end(writer, call, { state, durationMs, errorCode: code, used, model });
    });
    if (held.signal.aborted) throw failure;
  }

  private async pause(
    held: HeldRun,
    what: {
      readonly effectId: string;
      readonly iteration: number;
      readonly attempt: number;
      readonly failure: UpstreamError;
    },
  ): Promise<void> {
    const { effectId, iteration, attempt, failure } = what;
    const backoff = this.config.HARNESS_MODEL_RETRY_MS * BACKOFF ** (attempt - 1);
    // A fifth more or less, so that many runs do not all come back at once.
    const spread = backoff * (0.8 + Math.random() * 0.4);
    const asked = Math.min(failure.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
    const delayMs = Math.round(Math.max(spread, asked));
    const failureKind = this.mask.apply(failure.kind);
    await this.ledger.append(held.lease, [
      {
        type: 'model.retrying',
        data: { effectId, retry: attempt, maxRetries: TRIES - 1, failureKind, delayMs },
        subject: { stepId: stepIdOf(iteration) },
      },
    ]);
    await delay(delayMs, undefined, { signal: held.signal });
  }
}

function callOf({
  input,
  context,
}: {
  readonly input: TurnInput;
  readonly context: TurnContext;
}): ChatCall {
  const { model, tools } = input;
  return {
    model: model.modelName,
    messages: context.messages,
    ...(tools.length > 0 && { tools, toolChoice: 'auto' }),
    ...(model.maxOutput !== undefined && { maxTokens: model.maxOutput }),
  };
}

function keep(part: ChatPart, draft: Draft, log: DeltaLog): void {
  switch (part.type) {
    case 'text-delta':
      draft.text += part.text;
      log.add('assistant.text.delta', part.text);
      break;
    case 'reasoning-delta':
      draft.thinking += part.text;
      log.add('assistant.thinking.delta', part.text);
      break;
    case 'tool-call':
      draft.toolCalls.push(part.toolCall);
      break;
    case 'usage':
      draft.usage = part.usage;
      break;
    case 'finish':
      draft.finish = part;
      break;
  }
}

/** Failures after which a service may well have read the request, although nothing of an answer has come. */
const READ_BY_THEN: readonly UpstreamError['kind'][] = [
  'timeout',
  'aborted',
  'cut',
  'content',
  'protocol',
];

/** Whether the service has worked on the request, so that it counts. */
function wasTaken(draft: Draft, { kind }: UpstreamError): boolean {
  return draft.usage !== undefined || writtenIn(draft) !== '' || READ_BY_THEN.includes(kind);
}

/** What a failure of the service makes of a turn. */
export function failedTurn(
  error: UpstreamError,
): Extract<TurnResult, { kind: 'unavailable' | 'refused' }> {
  return { kind: mayPass(error) ? 'unavailable' : 'refused', error };
}

/** Whether the same call may succeed a moment later. A cut answer is asked for again, because nothing of it was stored. */
function mayPass({ retryable, kind }: UpstreamError): boolean {
  return retryable || ['timeout', 'connection', 'cut', 'overloaded', 'rate-limit'].includes(kind);
}
