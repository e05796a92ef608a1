import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import type { SseWriter } from '../platform/http/index.js';
import { IdempotencyInProgressError, IdempotencyMismatchError } from './chat.errors.js';
import {
  contentFrame,
  doneFrame,
  errorFrames,
  reasoningFrame,
  sourcesFrame,
  usageFrame,
} from './chat.frames.js';
import { RunningTurns } from './running-turns.js';
import { TurnRepository } from './turn.repository.js';
import type { StoredAnswer, StoredTurn } from './turn.repository.js';

const INTERRUPTED =
  'The service stopped while this message was being answered. Send it with a new key.';

/** A repeated request with the same Idempotency-Key answers the stored turn instead of calling the model again. */
@Injectable()
export class ChatReplay {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly turns: TurnRepository,
    private readonly running: RunningTurns,
  ) {}

  /** Writes the stored turn; false for a new key. Throws when the key belongs to another message or a running turn. */
  async answered(
    caller: Caller,
    sent: { key: string; requestHash: string },
    writer: SseWriter,
  ): Promise<boolean> {
    const turn = await this.turns.findByKey(caller, sent.key);
    if (!turn) return false;
    if (turn.requestHash !== sent.requestHash) throw new IdempotencyMismatchError();
    if (turn.answer) writer.write(framesOf(turn.answer));
    else if (this.isLost(turn)) writer.write(errorFrames(INTERRUPTED));
    else throw new IdempotencyInProgressError();
    return true;
  }

  /** True when no process can be writing the answer any more. */
  private isLost(turn: StoredTurn): boolean {
    if (this.running.has(turn.turnId)) return false;
    return this.config.embedded || turn.ageSeconds > this.config.CHAT_STREAM_TIMEOUT_SECONDS;
  }
}

function framesOf(answer: StoredAnswer): string {
  const text =
    (answer.sources ? sourcesFrame(answer.sources) : '') +
    (answer.reasoning ? reasoningFrame(answer.reasoning) : '') +
    (answer.content === '' ? '' : contentFrame(answer.content));
  if (answer.state === 'failed') return text + errorFrames(answer.error ?? INTERRUPTED);
  return text + usageFrame(answer.usage) + doneFrame(answer.finishReason ?? 'stop');
}
