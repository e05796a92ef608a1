import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller, InlineContent } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { unavailableError } from '../platform/database/index.js';
import { DomainError, setEnvelopeCode, unexpectedMessage } from '../platform/error/index.js';
import { currentRequest } from '../platform/http/index.js';
import type { SseWriter } from '../platform/http/index.js';
import { estimateMessageTokens, estimateTokens } from '../model/index.js';
import { asMessage, cut, msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { ChatMessage, Usage } from '../provider/index.js';
import { AnswerStore } from './answer.store.js';
import { citationsIn, referenceOf } from '../agent/index.js';
import { IdempotencyInProgressError, IdempotencyMismatchError } from './chat.errors.js';
import {
  contentFrame,
  doneFrame,
  errorFrames,
  reasoningFrame,
  sourcesFrame,
  toolCallFrame,
  toolResultFrame,
  usageFrame,
} from './chat.frames.js';
import type { ErrorDetails } from './chat.frames.js';
import { StepRepository } from './step/step.repository.js';
import type { StoredStep } from './step/step.entity.js';
import { endedCall, stepMessages } from './step/turn.steps.js';
import { publicMessage } from './chat.turn.js';
import { inlineEnding } from './inline-content.js';
import type { EndedAnswer } from './inline-content.js';
import type { Turn, TurnOutcome } from './chat.turn.js';
import { RunningTurns } from './running-turns.js';
import { TurnRepository } from './turn.repository.js';
import type { StoredAnswer, StoredTurn, TurnUsage } from './turn.repository.js';

/** Length of the column. */
const LONGEST_ERROR = 500;

const INTERRUPTED = msg`The service stopped while this message was being answered. Send it with a new key.`;

/** Ends an answer: stores it, then notifies the client; and repeats stored ones. */
@Injectable()
export class ChatAnswer {
  private readonly logger = new Logger('Chat');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly turns: TurnRepository,
    private readonly steps: StepRepository,
    private readonly store: AnswerStore,
    private readonly running: RunningTurns,
  ) {}

  /** Answers an error before the turn began; nothing is stored. */
  refuse(writer: SseWriter, error: unknown): void {
    const message = this.messageOf(error);
    const details = detailsOf(error);
    setEnvelopeCode(writer.response, details.code);
    writer.write(errorFrames(message, details));
  }

  /**
   * Writes the stored turn of a repeated key instead of calling the model again; false for a new key. Throws when the key
   * belongs to another message or a running turn.
   */
  async replay(
    caller: Caller,
    key: string,
    requestHash: string | undefined,
    writer: SseWriter,
  ): Promise<boolean> {
    const turn = await this.turns.findByKey(caller, key);
    if (!turn) return false;
    if (turn.requestHash !== requestHash) throw new IdempotencyMismatchError();
    if (turn.answer) {
      const { id } = turn.answer;
      const steps = (await this.steps.of(caller.tenantId, [id])).get(id) ?? [];
      writer.write(framesOf(turn.answer, steps, caller.inline));
    } else if (this.isLost(turn)) writer.write(errorFrames(INTERRUPTED));
    else throw new IdempotencyInProgressError();
    return true;
  }

  /** `messages` are those that were sent to the model. */
  async end(turn: Turn, messages: readonly ChatMessage[], outcome: TurnOutcome): Promise<void> {
    const failed = outcome.state === 'failed';
    const error = failed ? cut(this.messageOf(outcome.error), LONGEST_ERROR) : undefined;
    const usage = usageOf(turn, messages);
    const citations = turn.sources && citationsIn(turn.text, turn.sources.length);
    const sources = turn.sources?.map((source) => ({
      ...referenceOf(source),
      cited: citations?.cited.includes(source.number) ?? false,
    }));
    const structured =
      outcome.state === 'complete' && turn.plan.generation.responseFormat !== undefined;
    const ended = { ...outcome, content: turn.text, sources, structured };
    const { tenantId, userId } = turn.caller;
    const owner = { tenantId, userId };
    const result = await this.store.store(owner, {
      turnId: turn.id,
      questionId: turn.questionId,
      sessionId: turn.body.sessionId,
      content: turn.text,
      reasoning: turn.reasoning,
      modelName: turn.trail.modelName ?? turn.plan.model.modelName,
      agentId: turn.body.agentId,
      state: outcome.state,
      finishReason: outcome.finishReason,
      error,
      usage,
      firstTokenMs: turn.firstTokenMs,
      durationMs: turn.durationMs,
      sources,
      structured,
      providerState: turn.providerState,
      ...(turn.steps.all.length > 0 && { steps: turn.steps.unsaved }),
    });
    if (result === 'refused') turn.write(errorFrames(NOT_STORED));
    else if (error !== undefined) {
      const details = detailsOf(outcome.error);
      turn.write(errorFrames(error, details), details.code);
    } else if (turn.stopReason === 'signed-out') turn.write(errorFrames(SIGNED_OUT));
    else if (turn.stopReason === 'shutdown') turn.write(errorFrames(SHUTDOWN));
    else {
      const ending = endingFrame(ended, turn.caller.inline);
      const done = doneFrame(outcome.finishReason, {
        citations,
        isKept: result === 'kept',
        structured,
      });
      const attempts = turn.trail.isEventful ? turn.trail.attempts : undefined;
      turn.write(ending + usageFrame(usage, attempts) + done);
    }
  }

  /** True when no process can be writing the answer any more. */
  private isLost(turn: StoredTurn): boolean {
    if (this.running.has(turn.turnId)) return false;
    return this.config.embedded || turn.ageSeconds > this.config.CHAT_STREAM_TIMEOUT_SECONDS;
  }

  private messageOf(error: unknown): Message {
    const message = publicMessage(unavailableError(error) ?? error);
    if (message !== undefined) return message;
    this.logger.error({ msg: 'Unhandled error in a chat turn', err: error });
    return unexpectedMessage(currentRequest()?.id);
  }
}

const NOT_STORED = msg`The answer could not be stored. Copy it if you need it.`;
const SIGNED_OUT = msg`Your sign-in has ended, so the answer stops here. Sign in again to continue.`;
const SHUTDOWN = msg`The service is restarting, so the answer stops here. Send the message again in a moment.`;

function detailsOf(error: unknown): ErrorDetails {
  const known = error instanceof DomainError ? error : unavailableError(error);
  return { code: known?.code ?? 500, data: known?.data ?? null };
}

function endingFrame(answer: EndedAnswer, inline: InlineContent): string {
  const ending = inlineEnding(answer, inline);
  return ending === '' ? '' : contentFrame(ending);
}

function framesOf(
  answer: StoredAnswer,
  steps: readonly StoredStep[],
  inline: InlineContent,
): string {
  const calls = steps.flatMap((step) => step.calls.map(endedCall));
  const text =
    calls.map((call) => toolCallFrame(call) + toolResultFrame(call)).join('') +
    (answer.sources ? sourcesFrame(answer.sources) : '') +
    (answer.reasoning ? reasoningFrame(answer.reasoning) : '') +
    (answer.content === '' ? '' : contentFrame(answer.content));
  if (answer.state === 'failed') {
    return text + errorFrames(answer.error === null ? INTERRUPTED : asMessage(answer.error));
  }
  const { structured } = answer;
  const end = usageFrame(answer.usage) + doneFrame(answer.finishReason ?? 'stop', { structured });
  return text + endingFrame(answer, inline) + end;
}

/** Of all calls of the model in the turn. */
function usageOf(turn: Turn, messages: readonly ChatMessage[]): TurnUsage {
  const steps = turn.steps.all;
  if (steps.length === 0) return turnUsage(turn.usage, messages, turn.text + turn.reasoning);
  const sent = [...messages];
  const usages = steps.map((step) => {
    const [answer, ...results] = stepMessages(step);
    const usage = usageOfStep(step);
    const counted = turnUsage(usage, sent, '');
    const outputTokens = usage.outputTokens ?? (answer ? estimateMessageTokens(answer) : 0);
    sent.push(...(answer ? [answer] : []), ...results);
    return { ...counted, outputTokens, totalTokens: counted.inputTokens + outputTokens };
  });
  const last = turn.lastText + turn.lastReasoning;
  // A turn that ended in a tool did not call the model again.
  if (turn.usage !== undefined || last !== '') usages.push(turnUsage(turn.usage, sent, last));
  return usages.reduce((sum, usage) => ({
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    totalTokens: sum.totalTokens + usage.totalTokens,
    estimated: sum.estimated || usage.estimated,
  }));
}

function usageOfStep({ inputTokens, outputTokens }: StoredStep): Usage {
  return {
    inputTokens: inputTokens ?? undefined,
    outputTokens: outputTokens ?? undefined,
    raw: undefined,
  };
}

/** The provider's counts; missing ones are estimated from the texts and marked as estimated. */
export function turnUsage(
  usage: Usage | undefined,
  sent: readonly ChatMessage[],
  answer: string,
): TurnUsage {
  const inputTokens = usage?.inputTokens;
  const outputTokens = usage?.outputTokens;
  const input =
    inputTokens ?? sent.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
  const output = outputTokens ?? estimateTokens(answer);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: usage?.totalTokens ?? input + output,
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}
