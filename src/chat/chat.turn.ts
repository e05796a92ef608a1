import { randomUUID } from 'node:crypto';
import type { Caller } from '../platform/access/index.js';
import { DomainError, setEnvelopeCode } from '../platform/error/index.js';
import { defined } from '../platform/http/index.js';
import type { SseWriter } from '../platform/http/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import { retryBeforeFirstPart } from '../provider/index.js';
import type {
  CallLimits,
  ChatMessage,
  ChatPart,
  ResponseFormat,
  Usage,
} from '../provider/index.js';
import type { SendBody } from './chat.dto.js';
import { AnswerTooLongError, TurnStopped } from './chat.errors.js';
import type { StopReason } from './chat.errors.js';
import { contentFrame, reasoningFrame } from './chat.frames.js';
import type { Source } from './augmentation/sources.js';
import type { StructuredAnswers } from './format/structured-answers.js';
import type { MessageState } from './message.entity.js';

/** Longest stored answer, in characters of text and thinking together. */
const MAX_ANSWER = 8_000_000;

/** Generation parameters of the call. */
export interface Generation {
  readonly thinking: boolean | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly maxTokens: number | undefined;
  readonly stop: readonly string[] | undefined;
}

/** How a message is answered. */
export interface TurnPlan {
  readonly model: ResolvedChatModel;
  /** The prompt of the agent. */
  readonly systemPrompt: string | undefined;
  /** The knowledge bases to search; often none. */
  readonly bases: readonly KnowledgeBase[];
  readonly generation: Generation;
  /** The form that the answer must have; undefined for free text. */
  readonly responseFormat: ResponseFormat | undefined;
}

export interface TurnLimits extends CallLimits {
  readonly attempts: number;
}

/** How a turn ended, with the error of a failed one. */
export interface TurnOutcome {
  readonly state: MessageState;
  readonly finishReason: string;
  readonly error?: unknown;
}

/**
 * One running answer: reads the parts of the adapter, writes them to the client and collects them. Its text is always
 * the concatenation of the content frames that it wrote. `run` never rejects; the outcome says how it ended.
 */
export class Turn {
  readonly id = randomUUID();
  text = '';
  reasoning = '';
  usage: Usage | undefined;
  firstTokenMs: number | undefined;
  /** The fragments that were sent to the model; undefined for a turn without retrieval. */
  sources: readonly Source[] | undefined;
  /** The id of the stored question. */
  questionId = 0;
  /** Settles when the turn has ended and its answer is stored or kept. */
  settled: Promise<void> = Promise.resolve();

  private readonly abort = new AbortController();
  private readonly started = performance.now();
  private finish: { reason: string } | undefined;
  private over = false;

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

  /** Calls the model, which `current` looks up again, and writes its answer until it ends, fails or is stopped. */
  async run(
    messages: readonly ChatMessage[],
    { attempts, ...limits }: TurnLimits,
    current: (model: ResolvedChatModel) => Promise<ResolvedChatModel>,
    structured: StructuredAnswers,
  ): Promise<TurnOutcome> {
    const { signal } = this.abort;
    const { generation, bases, responseFormat: format } = this.plan;
    // A turn without retrieval calls the model it has just resolved; later calls use what is stored by then.
    let isFresh = bases.length === 0;
    try {
      signal.throwIfAborted();
      const ask = (sent: readonly ChatMessage[]): AsyncIterable<readonly ChatPart[]> => {
        const open = async (): Promise<AsyncIterable<readonly ChatPart[]>> => {
          const model = isFresh ? this.plan.model : await current(this.plan.model);
          isFresh = false;
          const call = {
            model: model.modelName,
            messages: sent,
            ...defined({ ...generation, responseFormat: format }),
          };
          return model.adapter.stream(call, model.connection, { limits, signal });
        };
        return retryBeforeFirstPart(open, { attempts, signal });
      };
      const first = ask(messages);
      const correct = (more: readonly ChatMessage[]): AsyncIterable<readonly ChatPart[]> =>
        ask([...messages, ...more]);
      const answer = format ? structured.read({ format, first, correct }) : first;
      for await (const parts of answer) {
        signal.throwIfAborted();
        const frames = this.collect(parts);
        if (frames !== '' && !this.writer.write(frames)) await this.writer.drained(signal);
      }
      signal.throwIfAborted();
      return { state: 'complete', finishReason: this.finish?.reason ?? 'stop' };
    } catch (error) {
      return this.outcomeOf(error);
    } finally {
      this.over = true;
    }
  }

  /** The outcome of a turn that ended with an error: a stopped turn has not failed. */
  outcomeOf(error: unknown): TurnOutcome {
    const { stopReason } = this;
    if (stopReason) return { state: 'stopped', finishReason: stopReason };
    return { state: 'failed', finishReason: 'error', error };
  }

  /** Collects the parts of one read and returns their frames; adjacent texts become one frame. */
  private collect(parts: readonly ChatPart[]): string {
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
          text += storable(part.text);
          break;
        case 'reasoning-delta':
          if (text !== '') {
            frames += this.keepText(text);
            text = '';
          }
          reasoning += storable(part.text);
          break;
        case 'usage':
          this.usage = part.usage;
          break;
        case 'finish':
          this.finish = { reason: part.reason };
          break;
        case 'tool-call':
          // No tools are offered in a chat, so a call cannot be executed.
          break;
      }
    }
    if (reasoning !== '') frames += this.keepReasoning(reasoning);
    if (text !== '') frames += this.keepText(text);
    return frames;
  }

  private keepText(text: string): string {
    this.keep(text);
    this.text += text;
    return contentFrame(text);
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

/** Without the NUL character, which PostgreSQL cannot store. */
function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

/** The message of a failure for clients and the stored answer; undefined when only the log may have it. */
export function publicMessage(error: unknown): string | undefined {
  return error instanceof DomainError ? error.message : undefined;
}
