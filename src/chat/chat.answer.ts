import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { isForeignKeyViolation } from '../platform/database/index.js';
import { DomainError, setEnvelopeCode, unexpectedMessage } from '../platform/error/index.js';
import { currentRequest } from '../platform/http/index.js';
import type { SseWriter } from '../platform/http/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import { Metrics } from '../platform/observability/index.js';
import { UpstreamError } from '../provider/index.js';
import type { ChatMessage } from '../provider/index.js';
import { citationsIn } from './augmentation/citations.js';
import { referenceOf } from './augmentation/sources.js';
import { doneFrame, errorFrames, usageFrame } from './chat.frames.js';
import { publicMessage } from './chat.turn.js';
import type { Turn, TurnOutcome } from './chat.turn.js';
import { turnUsage } from './chat.usage.js';
import { TurnRepository } from './turn.repository.js';
import type { TurnAnswer } from './turn.repository.js';

export interface EndedTurn {
  readonly turn: Turn;
  readonly model: ResolvedChatModel;
  readonly messages: readonly ChatMessage[];
  readonly outcome: TurnOutcome;
}

const STORE_RETRY_MS = 500;

/** Length of the column. */
const LONGEST_ERROR = 500;

/** Ends an answer: stores and counts it, then notifies the client, so that `done` means stored. */
@Injectable()
export class ChatAnswer {
  private readonly logger = new Logger('Chat');

  constructor(
    private readonly turns: TurnRepository,
    private readonly metrics: Metrics,
  ) {}

  /** Answers an error before the turn began; nothing is stored. */
  refuse(writer: SseWriter, error: unknown): void {
    const message = this.messageOf(error);
    setEnvelopeCode(writer.response, codeOf(error));
    writer.write(errorFrames(message));
  }

  async end(caller: Caller, ended: EndedTurn): Promise<void> {
    const { turn, model, messages, outcome } = ended;
    const failed = outcome.state === 'failed';
    const error = failed ? this.messageOf(outcome.error).slice(0, LONGEST_ERROR) : undefined;
    const usage = turnUsage(turn.usage, messages, turn.text + turn.reasoning);
    this.count(ended);
    const citations = turn.sources && citationsIn(turn.text, turn.sources.length);
    const stored = await this.store(caller, {
      turnId: turn.id,
      sessionId: turn.sessionId,
      content: turn.text,
      reasoning: turn.reasoning,
      modelName: model.modelName,
      state: outcome.state,
      finishReason: outcome.finishReason,
      error,
      usage,
      firstTokenMs: turn.firstTokenMs,
      durationMs: turn.durationMs,
      sources: turn.sources?.map((source) => ({
        ...referenceOf(source),
        cited: citations?.cited.includes(source.number) ?? false,
      })),
    });
    if (!stored) turn.write(errorFrames('The answer could not be stored. Copy it if you need it.'));
    else if (error !== undefined) turn.write(errorFrames(error), codeOf(outcome.error));
    else if (turn.stopReason === 'signed-out') turn.write(errorFrames(SIGNED_OUT));
    else if (turn.stopReason === 'shutdown') turn.write(errorFrames(SHUTDOWN));
    else turn.write(usageFrame(usage) + doneFrame(outcome.finishReason, citations));
  }

  /** False when the answer could not be stored. An answer of a deleted user or tenant is dropped. */
  private async store(caller: Caller, answer: TurnAnswer): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.turns.finish(caller, answer);
        return true;
      } catch (error) {
        if (isForeignKeyViolation(error)) return true;
        this.logger.error({
          msg: 'Failed to store an answer',
          turnId: answer.turnId,
          attempt,
          err: error,
        });
        if (attempt === 2) return false;
        await sleep(STORE_RETRY_MS);
      }
    }
  }

  private count({ turn, model, outcome }: EndedTurn): void {
    const { error, state } = outcome;
    const provider = model.providerCode;
    const failure = error instanceof UpstreamError ? error.kind : 'error';
    const outcomes = { complete: 'ok', stopped: 'aborted', failed: failure };
    this.metrics.upstreamCall({
      provider,
      kind: 'chat',
      outcome: outcomes[state],
      seconds: turn.durationMs / 1_000,
    });
    if (turn.firstTokenMs !== undefined)
      this.metrics.firstToken(provider, turn.firstTokenMs / 1_000);
  }

  private messageOf(error: unknown): string {
    const message = publicMessage(error);
    if (message !== undefined) return message;
    this.logger.error({ msg: 'Unhandled error in a chat turn', err: error });
    return unexpectedMessage(currentRequest()?.id);
  }
}

const SIGNED_OUT = 'Your sign-in has ended, so the answer stops here. Sign in again to continue.';
const SHUTDOWN =
  'The service is restarting, so the answer stops here. Send the message again in a moment.';

function codeOf(error: unknown): number {
  return error instanceof DomainError ? error.code : 500;
}
