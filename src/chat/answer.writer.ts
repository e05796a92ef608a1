import type { ServerResponse } from 'node:http';
import { setEnvelopeCode } from '../platform/error/index.js';
import type { SseWriter } from '../platform/http/index.js';
import type {
  AskedCall,
  CallResult,
  DecidedCall,
  Source,
  TurnPart,
  TurnSources,
} from '../agent/index.js';
import {
  CallTrail,
  estimateMessagesTokens,
  estimateMessageTokens,
  estimateTokens,
} from '../model/index.js';
import type { ChatMessage, ProviderState, Usage } from '../provider/index.js';
import { AnswerTooLongError, TurnStopped } from './chat.errors.js';
import type { StopReason } from './chat.errors.js';
import {
  contentFrame,
  reasoningFrame,
  sourcesFrame,
  toolApprovalFrame,
  toolCallFrame,
  toolResultFrame,
} from './chat.frames.js';
import type { SourcesDetails } from './chat.frames.js';
import type { MessageState, StoredCall, StoredStep } from './message.entity.js';
import { BETWEEN_STEPS, stepMessages, UNFINISHED_CALL } from './turn.steps.js';
import { storableText, withoutNul } from './turn.repository.js';
import type { TurnUsage } from './turn.repository.js';

/** Maximum characters of text and thinking together. */
const MAX_ANSWER_CHARS = 8_000_000;

/** Outcome of a turn, with the error of a failed one. */
export interface TurnOutcome {
  readonly state: MessageState;
  readonly finishReason: string;
  readonly error?: unknown;
}

/** A step of a running turn; `isSaved` while its row is up to date. */
interface RunningStep extends StoredStep {
  calls: StoredCall[];
  isSaved: boolean;
}

/** An answer that has waited for its user. */
export interface RestoredAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly steps: readonly StoredStep[];
}

/** Where the frames of an answer go. */
export interface FrameOutput extends Pick<SseWriter, 'write' | 'drained' | 'onClose'> {
  /** The response that they are written to, if there is one. */
  readonly response?: ServerResponse;
}

export type AnswerClient = FrameOutput & Pick<SseWriter, 'closed'>;

/** No client reads along. */
export const UNREAD: AnswerClient = {
  closed: false,
  write: () => true,
  drained: () => Promise.resolve(),
  onClose: () => undefined,
};

/** Dependencies for reading an answer. */
interface AnswerReading {
  /** Stores a step with the text so far. */
  readonly saveStep: (step: StoredStep) => Promise<void>;
  /** The sources that tools extend; undefined for a runtime without tools. */
  readonly sources: TurnSources | undefined;
}

/**
 * An answer while it is written: reads the parts of a runtime, writes them to the client and collects them. Its text is
 * always the concatenation of the content frames that it wrote.
 */
export class AnswerWriter {
  text = '';
  reasoning = '';
  /** The fragments that were sent to the model; undefined for a turn without retrieval. */
  sources: readonly Source[] | undefined;
  /** Provider state of the text after the last step. */
  providerState: ProviderState | undefined;
  firstTokenMs: number | undefined;
  /** The attempts of the model. */
  readonly trail = new CallTrail();

  private readonly abort = new AbortController();
  private readonly started = performance.now();
  private isOver = false;
  private readonly steps: RunningStep[] = [];
  /** Offsets at which the text and thinking of the current step begin. */
  private stepText = 0;
  private stepReasoning = 0;
  /** Usage of model calls since the last step; steps contain the usage of earlier calls. */
  private usage: Usage | undefined;
  private finishReason = 'stop';
  /** The limit that ended the tool loop. */
  private limit: string | undefined;
  private waits = false;

  constructor(
    private readonly client: FrameOutput,
    private readonly turnId: string,
  ) {
    client.onClose(() => this.stop('client-left'));
  }

  /** Continues an answer that has waited for its user. */
  restore({ text, reasoning, steps }: RestoredAnswer): void {
    this.text = text;
    this.reasoning = reasoning;
    this.steps.push(
      ...steps.map((step) => ({
        ...step,
        calls: step.calls.map((call): StoredCall => {
          return call.state === 'waiting'
            ? { ...call, state: 'running', approval: undefined }
            : call;
        }),
        isSaved: true,
      })),
    );
    this.stepText = text.length;
    this.stepReasoning = reasoning.length;
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

  /** Ends the turn with the text so far. The first reason counts; after the end of the answer it does nothing. */
  stop(reason: StopReason): void {
    if (!this.isOver && !this.abort.signal.aborted) this.abort.abort(new TurnStopped(reason));
  }

  /** Writes frames unless the client has disconnected. `code` is the envelope code for logs and metrics. */
  write(frames: string, code = 200): void {
    if (this.client.response) setEnvelopeCode(this.client.response, code);
    this.client.write(frames);
  }

  /** Writes the sources that the question is sent with. */
  writeSources(sources: readonly Source[], notes: SourcesDetails): void {
    this.sources = sources;
    this.write(sourcesFrame(sources, notes));
  }

  /** Writes the parts until they end, fail or the turn is stopped. Never rejects: the outcome says how it ended. */
  async read(
    parts: AsyncIterable<readonly TurnPart[]>,
    { saveStep, sources }: AnswerReading,
  ): Promise<TurnOutcome> {
    const { signal } = this;
    try {
      signal.throwIfAborted();
      for await (const some of parts) {
        signal.throwIfAborted();
        const frames = this.collect(some, sources);
        if (frames !== '' && !this.client.write(frames)) await this.client.drained(signal);
        // A runtime runs a tool only after this: when its call is stored. A step that cannot be stored ends the turn.
        for (const step of this.unsavedSteps) {
          await saveStep(step);
          step.isSaved = true;
        }
      }
      signal.throwIfAborted();
      if (this.waits) return { state: 'waiting', finishReason: 'waiting' };
      return { state: 'complete', finishReason: this.limit ?? this.finishReason };
    } catch (error) {
      return this.outcomeOf(error);
    } finally {
      this.isOver = true;
      this.stopCalls();
    }
  }

  /** The outcome of a turn that ended with an error: a stopped turn has not failed. */
  outcomeOf(error: unknown): TurnOutcome {
    const { stopReason } = this;
    if (stopReason) return { state: 'stopped', finishReason: stopReason };
    return { state: 'failed', finishReason: 'error', error };
  }

  get hasSteps(): boolean {
    return this.steps.length > 0;
  }

  /** Whether the ledger has calls of the turn. */
  get hasEffects(): boolean {
    return this.steps.some(({ calls }) => calls.some(({ effectId }) => effectId !== undefined));
  }

  /** The steps that have changed since they were saved, in their order. */
  get unsavedSteps(): RunningStep[] {
    return this.steps.filter(({ isSaved }) => !isSaved);
  }

  /** Tokens of all calls of the model in the turn, the first of which was sent `messages`. */
  usageFor(messages: readonly ChatMessage[]): TurnUsage {
    if (!this.hasSteps) return turnUsage(this.usage, messages, this.text + this.reasoning);
    const sentMessages = [...messages];
    const usages = this.steps.map((step): TurnUsage => {
      const [answer, ...results] = stepMessages(step);
      const inputTokens = step.inputTokens ?? estimateMessagesTokens(sentMessages);
      const outputTokens = step.outputTokens ?? (answer ? estimateMessageTokens(answer) : 0);
      const estimated = step.inputTokens === null || step.outputTokens === null;
      sentMessages.push(...(answer ? [answer] : []), ...results);
      return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated };
    });
    const last = this.lastText + this.lastReasoning;
    // A turn that ended in a tool did not call the model again.
    if (this.usage !== undefined || last !== '')
      usages.push(turnUsage(this.usage, sentMessages, last));
    return usages.reduce((sum, usage) => ({
      inputTokens: sum.inputTokens + usage.inputTokens,
      outputTokens: sum.outputTokens + usage.outputTokens,
      totalTokens: sum.totalTokens + usage.totalTokens,
      estimated: sum.estimated || usage.estimated,
    }));
  }

  /** Output of the model since the last step. */
  private get lastText(): string {
    const text = this.text.slice(this.stepText);
    return this.stepText > 0 && text !== '' ? text.slice(BETWEEN_STEPS.length) : text;
  }

  private get lastReasoning(): string {
    return this.reasoning.slice(this.stepReasoning);
  }

  /** Collects the parts of one read and returns their frames; adjacent texts become one frame. */
  private collect(parts: readonly TurnPart[], sources: TurnSources | undefined): string {
    let frames = '';
    let text = '';
    let reasoning = '';
    const flush = (): void => {
      if (reasoning !== '') frames += this.addReasoning(reasoning);
      if (text !== '') frames += this.addText(text);
      reasoning = '';
      text = '';
    };
    for (const part of parts) {
      switch (part.type) {
        case 'text-delta':
          if (reasoning !== '') flush();
          text += withoutNul(part.text);
          break;
        case 'reasoning-delta':
          if (text !== '') flush();
          reasoning += withoutNul(part.text);
          break;
        case 'usage':
          this.usage = sumOfUsages(this.usage, part.usage);
          break;
        case 'provider-state':
          this.providerState = part.providerState;
          break;
        case 'finish':
          this.finishReason = part.reason;
          break;
        case 'limit':
          flush();
          this.limit = part.reached;
          break;
        case 'step':
          flush();
          this.addStep(part.calls);
          frames += part.calls.map(toolCallFrame).join('');
          break;
        case 'tool-result': {
          flush();
          const call = this.endCall(part.result);
          if (call) frames += toolResultFrame(call) + this.framesOfAdded(sources);
          break;
        }
        case 'waiting':
          flush();
          this.waits = true;
          frames += part.calls.map((call) => this.wait(call)).join('');
          break;
        case 'tool-call':
          // Runtimes with tools report calls in a step.
          break;
      }
    }
    flush();
    return frames;
  }

  private addText(text: string): string {
    const isFirstOfStep = this.text.length === this.stepText && this.stepText > 0;
    const written = isFirstOfStep ? BETWEEN_STEPS + text : text;
    this.checkLength(written);
    this.text += written;
    return contentFrame(written);
  }

  private addReasoning(text: string): string {
    this.checkLength(text);
    this.reasoning += text;
    return reasoningFrame(text);
  }

  private checkLength(piece: string): void {
    this.firstTokenMs ??= this.durationMs;
    if (this.text.length + this.reasoning.length + piece.length > MAX_ANSWER_CHARS) {
      throw new AnswerTooLongError();
    }
  }

  /** Turns the output since the last step into a step with these calls. */
  private addStep(calls: readonly DecidedCall[]): void {
    const { lastText, lastReasoning, usage, providerState } = this;
    this.steps.push({
      number: this.steps.length + 1,
      text: lastText,
      reasoning: lastReasoning === '' ? null : lastReasoning,
      calls: calls.map((call) => ({
        number: call.number,
        id: storableText(call.id),
        name: storableText(call.name),
        arguments: storableText(call.arguments),
        ...(call.effectId !== undefined && { effectId: call.effectId }),
        state: 'running',
        summary: '',
        content: '',
        durationMs: null,
      })),
      providerState: providerState ?? null,
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      isSaved: false,
    });
    this.usage = undefined;
    this.providerState = undefined;
    this.stepText = this.text.length;
    this.stepReasoning = this.reasoning.length;
  }

  /** Adds the result to its call, and returns the call; undefined when no such call runs. */
  private endCall(result: CallResult): StoredCall | undefined {
    for (const step of this.steps) {
      const index = step.calls.findIndex(({ number }) => number === result.number);
      const call = step.calls[index];
      if (call?.state !== 'running') continue;
      const { state, durationMs } = result;
      const summary = storableText(result.summary);
      const ended = { ...call, state, durationMs, summary, content: storableText(result.content) };
      step.calls[index] = ended;
      step.isSaved = false;
      return ended;
    }
    return undefined;
  }

  /** Lets the call wait for the user, and returns its frame. */
  private wait({ number, effectId: _, ...approval }: AskedCall): string {
    for (const step of this.steps) {
      const index = step.calls.findIndex((call) => call.number === number);
      const call = step.calls[index];
      if (!call) continue;
      const waiting: StoredCall = { ...call, state: 'waiting', approval };
      step.calls[index] = waiting;
      step.isSaved = false;
      return toolApprovalFrame(this.turnId, waiting);
    }
    return '';
  }

  /** Ends the calls that still run, because the turn is over. */
  private stopCalls(): void {
    const running = this.steps.flatMap(({ calls }) => calls.filter(isRunning));
    const frames = running.flatMap(({ number }) => {
      const call = this.endCall({ number, ...STOPPED });
      return call ? [toolResultFrame(call)] : [];
    });
    if (frames.length > 0) this.client.write(frames.join(''));
  }

  /** The frame of the sources that a tool has added; empty without any. */
  private framesOfAdded(sources: TurnSources | undefined): string {
    const previous = this.sources?.length ?? 0;
    const all = sources?.all ?? [];
    if (all.length === previous) return '';
    this.sources = all;
    return sourcesFrame(all.slice(previous));
  }
}

const STOPPED = {
  state: 'stopped',
  summary: 'The turn ended before the tool did.',
  content: UNFINISHED_CALL,
  durationMs: 0,
} as const;

function isRunning({ state }: StoredCall): boolean {
  return state === 'running';
}

/** Adds two usages; a count missing in either is unknown. */
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

/** The provider's counts; missing ones are estimated from the texts and marked as estimated. */
export function turnUsage(
  usage: Usage | undefined,
  messages: readonly ChatMessage[],
  answer: string,
): TurnUsage {
  const inputTokens = usage?.inputTokens;
  const outputTokens = usage?.outputTokens;
  const input = inputTokens ?? estimateMessagesTokens(messages);
  const output = outputTokens ?? estimateTokens(answer);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: usage?.totalTokens ?? input + output,
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}
