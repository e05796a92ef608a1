import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { isOutage, withStatementLimit } from '../platform/database/index.js';
import { EventBus } from '../platform/event/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import type { AnswerWriter } from './answer.writer.js';
import type { SendBody } from './chat.dto.js';
import { LEASE_SECONDS, TurnRepository } from './turn.repository.js';
import type { BegunTurn, PartialAnswer } from './turn.repository.js';

const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

/** Interval of storing the texts of running turns. */
const SAVE_MS = 3_000;

/** A text of this length is stored at every interval, one of twice the length at every second one, and so on. */
const SAVED_CHARS = 65_536;

/** Maximum characters per statement, unless a single text is longer. */
const MAX_STATEMENT_CHARS = 1_048_576;

/** A turn whose question is stored. */
export interface RunningTurn {
  readonly id: string;
  readonly caller: Pick<Caller, 'tenantId'>;
  readonly body: Pick<SendBody, 'sessionId'>;
  readonly plan: { readonly model: { readonly modelName: string } };
  readonly begunTurn: BegunTurn;
  readonly answer: AnswerWriter;
}

/** A turn and the stored state of its answer. */
interface TurnEntry {
  readonly turn: RunningTurn;
  /** Settles when the turn has ended and its answer is stored or kept. */
  readonly ended: Promise<void>;
  savedLength: number;
  /** Time of the next save, on the clock of `performance`. */
  saveAt: number;
}

/**
 * The turns of this process. Renews their leases, in one statement for all; stores their texts every few seconds, so that
 * a process that dies leaves them behind; stops those whose users asked for it; and ends turns that died with their process.
 */
@Injectable()
export class RunningTurns implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(RunningTurns.name);
  private readonly turns = new Map<string, TurnEntry>();
  private renewal: IntervalJob | undefined;
  private saving: IntervalJob | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: TurnRepository,
    private readonly bus: EventBus,
    metrics: Metrics,
  ) {
    metrics.expiredLeases('turn', () => repository.expiredLeases());
  }

  async onApplicationBootstrap(): Promise<void> {
    this.unsubscribe = this.bus.subscribe('chat.stop', ({ tenantId, sessionId }) => {
      for (const { turn } of this.turns.values()) {
        const isMeant = turn.caller.tenantId === tenantId && turn.body.sessionId === sessionId;
        if (isMeant) turn.answer.stop('stopped');
      }
    });
    // The embedded store has one process, so at its start no turn can be alive.
    await this.repository.sweep(this.config.embedded);
    this.renewal = new IntervalJob(RENEW_MS, () =>
      withStatementLimit(RENEW_MS, () => this.renewAndSweep()),
    );
    this.saving = new IntervalJob(SAVE_MS, () =>
      withStatementLimit(RENEW_MS, () => this.saveTexts()),
    );
  }

  /** The grace period is over: remaining turns have been stopped and are stored now. */
  async beforeApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all([this.renewal?.stop(), this.saving?.stop()]);
    while (this.turns.size > 0) {
      await Promise.allSettled([...this.turns.values()].map(({ ended }) => ended));
    }
  }

  has(turnId: string): boolean {
    return this.turns.has(turnId);
  }

  /** Keeps the lease and the text of the turn stored while `answer` runs, and resolves with it. */
  async during(turn: RunningTurn, answer: () => Promise<void>): Promise<void> {
    const ended = answer();
    const saveAt = performance.now() + SAVE_MS / 2;
    this.turns.set(turn.id, { turn, ended, savedLength: 0, saveAt });
    try {
      await ended;
    } finally {
      this.turns.delete(turn.id);
    }
  }

  private async renewAndSweep(): Promise<void> {
    try {
      await this.renewLeases();
      await this.repository.sweep(false);
    } catch (error) {
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to renew turn leases', err: error });
    }
  }

  private async renewLeases(): Promise<void> {
    const turns = [...this.turns.values()].map(({ turn }) => turn);
    const sessionless = turns.filter(({ body }) => body.sessionId === undefined);
    if (sessionless.length > 0) {
      await this.repository.renewSessionless(
        sessionless.map(({ begunTurn, caller }) => ({
          tenantId: caller.tenantId,
          questionId: begunTurn.id,
        })),
      );
    }
    const inSessions = turns.filter(({ body }) => body.sessionId !== undefined);
    if (inSessions.length === 0) return;
    const stopped = await this.repository.renew(
      inSessions.map(({ id, caller }) => ({ tenantId: caller.tenantId, turnId: id })),
    );
    for (const turnId of stopped) this.turns.get(turnId)?.turn.answer.stop('stopped');
  }

  /** Saves the texts that have grown. */
  private async saveTexts(): Promise<void> {
    const now = performance.now();
    const due = [...this.turns.values()].filter(
      ({ turn, savedLength, saveAt }) => saveAt <= now && lengthOf(turn) > savedLength,
    );
    try {
      for (const batch of batchesOf(due)) {
        const lengths = batch.map(({ turn }) => lengthOf(turn));
        await this.repository.saveTexts(batch.map(({ turn }) => partialAnswer(turn)));
        batch.forEach((one, index) => {
          one.savedLength = lengths[index] ?? 0;
          one.saveAt = now + SAVE_MS * Math.max(0.5, one.savedLength / SAVED_CHARS);
        });
      }
    } catch (error) {
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to store texts of running turns', err: error });
      }
    }
  }
}

function lengthOf({ answer }: RunningTurn): number {
  return answer.text.length + answer.reasoning.length;
}

/** Splits the texts into batches, one statement each. */
function batchesOf(due: readonly TurnEntry[]): TurnEntry[][] {
  const batches: TurnEntry[][] = [];
  let remainingChars = 0;
  for (const one of due) {
    const length = lengthOf(one.turn);
    const last = batches.at(-1);
    if (last && length <= remainingChars) last.push(one);
    else {
      batches.push([one]);
      remainingChars = MAX_STATEMENT_CHARS;
    }
    remainingChars -= length;
  }
  return batches;
}

function partialAnswer({ caller, begunTurn, answer, plan }: RunningTurn): PartialAnswer {
  return {
    tenantId: caller.tenantId,
    questionId: begunTurn.id,
    content: answer.text,
    reasoning: answer.reasoning,
    modelName: plan.model.modelName,
  };
}
