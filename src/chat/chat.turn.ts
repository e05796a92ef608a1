import { randomUUID } from 'node:crypto';
import type { Message } from '../platform/message/index.js';
import type { Caller } from '../platform/access/index.js';
import { DomainError, setEnvelopeCode } from '../platform/error/index.js';
import type { SseWriter } from '../platform/http/index.js';
import type { Source, TurnLimits, TurnPart } from '../agent/index.js';
import { TurnSources } from '../agent/index.js';
import { CallTrail } from '../model/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import type { ChatMessage, ProviderState, Usage } from '../provider/index.js';
import type { SendBody } from './chat.dto.js';
import { AnswerTooLongError, TurnStopped } from './chat.errors.js';
import type { StopReason } from './chat.errors.js';
import type { ChatFile } from './file/chat-file.js';
import {
  contentFrame,
  reasoningFrame,
  sourcesFrame,
  toolCallFrame,
  toolResultFrame,
} from './chat.frames.js';
import type { MessageState } from './message.entity.js';
import { BETWEEN_STEPS, TurnSteps } from './step/turn.steps.js';
import type { StoredStep } from './step/step.entity.js';
import { withoutNul } from './storable-text.js';
import type { TurnPlan, TurnPlanner } from './turn.planner.js';

/** Longest stored answer, in characters of text and thinking together. */
const MAX_ANSWER = 8_000_000;

/** What a running turn needs of the service. */
export interface TurnServices {
  readonly limits: TurnLimits;
  /** Looks the model up again. */
  readonly current: (model: ResolvedChatModel) => Promise<ResolvedChatModel>;
  readonly planner: TurnPlanner;
  /** Stores a step with the text so far. */
  readonly saveStep: (turn: Turn, step: StoredStep) => Promise<void>;
}

/** How a turn ended, with the error of a failed one. */
export interface TurnOutcome {
  readonly state: MessageState;
  readonly finishReason: string;
  readonly error?: unknown;
}

/**
 * One running answer: reads the parts of a runtime, writes them to the client and collects them. Its text is always the
 * concatenation of the content frames that it wrote. `run` never rejects; the outcome says how it ended.
 */
export class Turn {
  readonly id = randomUUID();
  text = '';
  reasoning = '';
  /** Of the calls of the model since the last step; those before it are in the steps. */
  usage: Usage | undefined;
  /** What the service wants back with what the model has written since the last step. */
  providerState: ProviderState | undefined;
  readonly steps = new TurnSteps();
  /** The attempts of the model. */
  readonly trail = new CallTrail();
  firstTokenMs: number | undefined;
  /** The fragments that were sent to the model; undefined for a turn without retrieval. */
  sources: readonly Source[] | undefined;
  /** The same for the tools, which add to them. */
  toolSources = new TurnSources();
  /** The files of the question. */
  files: readonly ChatFile[] = [];
  /** What an earlier answer has stored of them, where the question is answered again. */
  storedFiles: readonly ChatFile[] = [];
  /** The id of the row that was stored first: the question, or the answer to a question of before. */
  questionId = 0;
  /** The id of the question, be it stored with the turn or answered again. */
  asked = 0;
  /** In a session with branches the message before the question; undefined in one without. */
  before: number | null | undefined;
  /** Settles when the turn has ended and its answer is stored or kept. */
  settled: Promise<void> = Promise.resolve();

  private readonly abort = new AbortController();
  private readonly started = performance.now();
  private finish: { reason: string } | undefined;
  /** The limit that ended the work with tools. */
  private limit: string | undefined;
  private over = false;
  /** Where the text and the thinking of the current step begin. */
  private stepText = 0;
  private stepReasoning = 0;
  private hasUnsavedSteps = false;

  constructor(
    readonly caller: Caller,
    readonly body: SendBody,
    readonly plan: TurnPlan,
    private readonly writer: SseWriter,
  ) {
    writer.onClose(() => this.stop('client-left'));
  }

  get durationMs(): number {
    return Math.round(performance.now() - this.started);
  }

  /** Aborts when the turn is stopped. */
  get signal(): AbortSignal {
    return this.abort.signal;
  }

  get stopReason(): StopReason | undefined {
    const reason: unknown = this.abort.signal.reason;
    return reason instanceof TurnStopped ? reason.reason : undefined;
  }

  /** Ends the turn with the text so far. The first reason counts; after the end it does nothing. */
  stop(reason: StopReason): void {
    if (!this.over && !this.abort.signal.aborted) this.abort.abort(new TurnStopped(reason));
  }

  /** Writes frames unless the client has disconnected. `code` is the envelope code for logs and metrics. */
  write(frames: string, code = 200): void {
    setEnvelopeCode(this.writer.response, code);
    this.writer.write(frames);
  }

  /** Lets the runtime answer the messages, and writes its answer until it ends, fails or is stopped. */
  async run(messages: readonly ChatMessage[], services: TurnServices): Promise<TurnOutcome> {
    const { signal } = this.abort;
    try {
      signal.throwIfAborted();
      for await (const parts of this.answer(messages, services)) {
        signal.throwIfAborted();
        const frames = this.collect(parts);
        if (frames !== '' && !this.writer.write(frames)) await this.writer.drained(signal);
        if (this.hasUnsavedSteps) await this.saveSteps(services);
      }
      signal.throwIfAborted();
      return { state: 'complete', finishReason: this.limit ?? this.finish?.reason ?? 'stop' };
    } catch (error) {
      return this.outcomeOf(error);
    } finally {
      this.over = true;
      this.stopCalls();
    }
  }

  /** What the model has written since the last step. */
  get lastText(): string {
    const text = this.text.slice(this.stepText);
    return this.stepText > 0 && text !== '' ? text.slice(BETWEEN_STEPS.length) : text;
  }

  get lastReasoning(): string {
    return this.reasoning.slice(this.stepReasoning);
  }

  private answer(
    messages: readonly ChatMessage[],
    { limits, current, planner }: TurnServices,
  ): AsyncIterable<readonly TurnPart[]> {
    const { caller, signal, trail, toolSources: sources } = this;
    const { model, bases } = this.plan;
    // A turn without retrieval and files calls the model it has just resolved; later calls use what is stored by then.
    let isFresh = bases.length === 0 && this.files.length === 0;
    const currentModel = (): ResolvedChatModel | Promise<ResolvedChatModel> => {
      if (!isFresh) return current(model);
      isFresh = false;
      return model;
    };
    const call = { caller, currentModel, messages, sources, limits, signal, trail };
    return planner.answer(this.plan, call);
  }

  /** The outcome of a turn that ended with an error: a stopped turn has not failed. */
  outcomeOf(error: unknown): TurnOutcome {
    const { stopReason } = this;
    if (stopReason) return { state: 'stopped', finishReason: stopReason };
    return { state: 'failed', finishReason: 'error', error };
  }

  /** Collects the parts of one read and returns their frames; adjacent texts become one frame. */
  private collect(parts: readonly TurnPart[]): string {
    let frames = '';
    let text = '';
    let reasoning = '';
    for (const part of parts) {
      switch (part.type) {
        case 'text-delta':
          if (reasoning !== '') {
            frames += this.keepReasoning(reasoning);
            reasoning = '';
          }
          text += withoutNul(part.text);
          break;
        case 'reasoning-delta':
          if (text !== '') {
            frames += this.keepText(text);
            text = '';
          }
          reasoning += withoutNul(part.text);
          break;
        case 'usage':
          this.usage = sumOfUsages(this.usage, part.usage);
          break;
        case 'provider-state':
          this.providerState = part.providerState;
          break;
        case 'finish':
          this.finish = { reason: part.reason };
          break;
        case 'tool-call':
          // A runtime that runs tools says so with a step.
          break;
        case 'step':
        case 'tool-result':
        case 'limit':
          if (reasoning !== '') frames += this.keepReasoning(reasoning);
          if (text !== '') frames += this.keepText(text);
          reasoning = '';
          text = '';
          frames += this.collectStep(part);
          break;
      }
    }
    if (reasoning !== '') frames += this.keepReasoning(reasoning);
    if (text !== '') frames += this.keepText(text);
    return frames;
  }

  /** What a runtime does between two calls of the model. */
  private collectStep(part: Extract<TurnPart, { type: 'step' | 'tool-result' | 'limit' }>): string {
    switch (part.type) {
      case 'limit':
        this.limit = part.reached;
        return '';
      case 'step': {
        const { lastText: text, lastReasoning: reasoning, usage, providerState } = this;
        this.steps.add({ text, reasoning, usage, providerState }, part.calls);
        this.usage = undefined;
        this.providerState = undefined;
        this.stepText = this.text.length;
        this.stepReasoning = this.reasoning.length;
        this.hasUnsavedSteps = true;
        return part.calls.map(toolCallFrame).join('');
      }
      case 'tool-result': {
        const call = this.steps.end(part.result);
        if (!call) return '';
        this.hasUnsavedSteps = true;
        return toolResultFrame(call) + this.collectSources();
      }
    }
  }

  /** The sources that tools have added. */
  private collectSources(): string {
    const known = this.sources?.length ?? 0;
    const { all } = this.toolSources;
    if (all.length === known) return '';
    this.sources = all;
    return sourcesFrame(all.slice(known));
  }

  /** A tool runs only when its call is stored. What cannot be stored ends the turn, and is stored with the answer. */
  private async saveSteps({ saveStep }: TurnServices): Promise<void> {
    this.hasUnsavedSteps = false;
    await this.steps.save((step) => saveStep(this, step));
  }

  /** Ends the calls that still run. */
  private stopCalls(): void {
    const frames = this.steps.stop().map(toolResultFrame);
    if (frames.length > 0) this.writer.write(frames.join(''));
  }

  private keepText(text: string): string {
    const isFirstOfStep = this.text.length === this.stepText && this.stepText > 0;
    const written = isFirstOfStep ? BETWEEN_STEPS + text : text;
    this.keep(written);
    this.text += written;
    return contentFrame(written);
  }

  private keepReasoning(text: string): string {
    this.keep(text);
    this.reasoning += text;
    return reasoningFrame(text);
  }

  private keep(piece: string): void {
    this.firstTokenMs ??= this.durationMs;
    if (this.text.length + this.reasoning.length + piece.length > MAX_ANSWER) {
      throw new AnswerTooLongError();
    }
  }
}

/** Counts that one of the two lacks are unknown. */
export function sumOfUsages(one: Usage | undefined, other: Usage): Usage {
  if (!one) return other;
  const sum = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? undefined : a + b;
  return {
    inputTokens: sum(one.inputTokens, other.inputTokens),
    outputTokens: sum(one.outputTokens, other.outputTokens),
    totalTokens: sum(one.totalTokens, other.totalTokens),
    cachedInputTokens: sum(one.cachedInputTokens, other.cachedInputTokens),
    reasoningTokens: sum(one.reasoningTokens, other.reasoningTokens),
    raw: other.raw,
  };
}

/** The message of a failure for clients and the stored answer; undefined when only the log may have it. */
export function publicMessage(error: unknown): Message | undefined {
  return error instanceof DomainError ? error.message : undefined;
}
