import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import {
  inTenant,
  isForeignKeyViolation,
  isInvalidValue,
  isOutage,
} from '../platform/database/index.js';
import { withLimit } from '../platform/dependency/index.js';
import { Spool } from '../platform/filesystem/index.js';
import { Metrics, Shutdown } from '../platform/observability/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import type { ProviderState } from '../provider/index.js';
import { endedStates } from './message.entity.js';
import type { StoredSource, StoredStep } from './message.entity.js';
import { StepRepository } from './step.repository.js';
import { TurnRepository } from './turn.repository.js';
import type { AnswerOwner, KeptAnswer, TurnAnswer } from './turn.repository.js';
import { literal } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

/** Time that the end of a stream waits for an unavailable database; longer than a restart takes. */
const WAIT_MS = 10_000;

/** Limit of one attempt. It may still succeed later, because storing is idempotent. */
const ATTEMPT_MS = 5_000;

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2_000;

/** Retry interval of pending answers. */
const PENDING_RETRY_MS = 5_000;
const FILES_AT_ONCE = 500;
/** Failures after which the remaining answers wait for the next interval. */
const FAILURES = 3;

const MAX_SPOOL_BYTES = 256 * 1024 * 1024;

/** Limits of answers held in memory because no file could be written: total characters, and time of retries. */
const MAX_MEMORY_CHARS = 32 * 1024 * 1024;
const MEMORY_MS = 10 * 60_000;

/** `kept` will be stored when the database is back; `refused` never. */
type StoreResult = 'stored' | 'kept' | 'refused';

type Attempt = 'stored' | 'unavailable' | 'refused';

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** An answer as a file of DATA_DIR holds it. */
export const keptAnswer: z.ZodType<KeptAnswer> = z.object({
  owner: z.object({ tenantId: z.string(), userId: z.number() }),
  answer: z.object({
    turnId: z.uuid(),
    questionId: z.number(),
    sessionId: z.number().optional(),
    content: z.string(),
    reasoning: z.string(),
    modelName: z.string(),
    agentId: z.number().optional(),
    state: z.enum(endedStates),
    finishReason: z.string(),
    // Versions before messages kept their templates have stored a text.
    error: z.union([z.custom<Message>(isObject), z.string().transform(literal)]).optional(),
    usage: z.object({
      inputTokens: z.number(),
      outputTokens: z.number(),
      totalTokens: z.number(),
      estimated: z.boolean(),
    }),
    firstTokenMs: z.number().optional(),
    durationMs: z.number().optional(),
    request: z.record(z.string(), z.unknown()).optional(),
    sources: z.array(z.custom<StoredSource>(isObject)).optional(),
    steps: z.array(z.custom<StoredStep>(isObject)).optional(),
    providerState: z.custom<ProviderState>(isObject).optional(),
    structured: z.boolean().optional(),
  }),
});

interface Remembered extends KeptAnswer {
  readonly since: number;
}

/**
 * Stores the answers of turns. While the database is away, an answer is tried for some seconds, then kept as a file of
 * DATA_DIR, and in memory where no file can be written. Every process stores the files that it finds: those of an earlier
 * process, too.
 */
@Injectable()
export class AnswerStore implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Chat');
  private readonly spool: Spool<KeptAnswer>;
  private readonly remembered = new Map<string, Remembered>();
  private characters = 0;
  private retries: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly turns: TurnRepository,
    private readonly steps: StepRepository,
    private readonly shutdown: Shutdown,
    metrics: Metrics,
  ) {
    this.spool = new Spool(join(config.DATA_DIR, 'answers'), MAX_SPOOL_BYTES, (value) =>
      keptAnswer.parse(value),
    );
    metrics.gauge(
      'plinth_answers_kept',
      'Answers that the database has not taken yet',
      async () => this.remembered.size + (await this.spool.count()),
    );
  }

  onApplicationBootstrap(): void {
    this.retries = new IntervalJob(PENDING_RETRY_MS, (stopping) => this.storeKept(stopping));
    this.retries.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.retries?.stop();
    for (const pendingAnswer of this.remembered.values()) {
      if ((await this.attempt(pendingAnswer)) === 'unavailable')
        await this.writeFile(pendingAnswer);
    }
  }

  /** Resolves within seconds. Answers of a deleted session, user or tenant are dropped and count as stored. */
  async store(owner: AnswerOwner, answer: TurnAnswer): Promise<StoreResult> {
    const pendingAnswer = { owner, answer };
    const first = await this.attempt(pendingAnswer);
    const result = first === 'unavailable' ? await this.tryAgain(pendingAnswer) : first;
    return result === 'unavailable' ? this.keep(pendingAnswer) : result;
  }

  /** Retries for some seconds, or until the process stops. */
  private async tryAgain(pendingAnswer: KeptAnswer): Promise<Attempt> {
    const limit = AbortSignal.any([AbortSignal.timeout(WAIT_MS), this.shutdown.graceOver]);
    let delayMs = FIRST_RETRY_MS;
    while (!limit.aborted) {
      await sleep(delayMs, undefined, { signal: limit }).catch(() => undefined);
      const result = await this.attempt(pendingAnswer);
      if (result !== 'unavailable') return result;
      delayMs = Math.min(delayMs * 2, MAX_RETRY_MS);
    }
    return 'unavailable';
  }

  private async attempt({ owner, answer }: KeptAnswer): Promise<Attempt> {
    try {
      const storing = inTenant(owner.tenantId, () => this.finish(owner, answer));
      await withLimit(ATTEMPT_MS, storing, () => {
        throw new Error(`The database did not answer within ${ATTEMPT_MS} ms.`);
      });
      return 'stored';
    } catch (error) {
      if (isForeignKeyViolation(error)) return 'stored';
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to store an answer', turnId: answer.turnId, err: error });
      }
      return isInvalidValue(error) ? 'refused' : 'unavailable';
    }
  }

  /** Steps are stored first, because a stored answer accepts no further ones. */
  private async finish(owner: AnswerOwner, answer: TurnAnswer): Promise<void> {
    const { tenantId } = owner;
    for (const step of answer.steps ?? []) await this.steps.save({ ...answer, tenantId }, step);
    await this.turns.finish(owner, answer);
  }

  private async keep(pendingAnswer: KeptAnswer): Promise<StoreResult> {
    if (await this.writeFile(pendingAnswer)) return 'kept';
    const characters = charactersOf(pendingAnswer);
    const { turnId } = pendingAnswer.answer;
    if (this.shutdown.graceOver.aborted || this.characters + characters > MAX_MEMORY_CHARS) {
      this.logger.error({ msg: 'Answer lost', turnId });
      return 'refused';
    }
    this.remembered.set(turnId, { ...pendingAnswer, since: Date.now() });
    this.characters += characters;
    return 'kept';
  }

  private async writeFile(pendingAnswer: KeptAnswer): Promise<boolean> {
    const { turnId } = pendingAnswer.answer;
    try {
      await this.spool.write(turnId, pendingAnswer);
      this.logger.warn({ msg: 'Answer kept in DATA_DIR', turnId });
      return true;
    } catch (error) {
      this.logger.error({ msg: 'Failed to keep an answer in DATA_DIR', turnId, err: error });
      return false;
    }
  }

  /** Retries all pending answers until the database is found unavailable. */
  async storeKept(stopping: AbortSignal): Promise<void> {
    try {
      if (await this.storeRemembered(stopping)) await this.storeFiles(stopping);
    } catch (error) {
      this.logger.error({ msg: 'Failed to read kept answers', err: error });
    }
  }

  /** Retries answers in memory; false if the database is unavailable. */
  private async storeRemembered(stopping: AbortSignal): Promise<boolean> {
    let isAway = false;
    for (const pendingAnswer of this.remembered.values()) {
      if (stopping.aborted) return false;
      const result: Attempt = isAway ? 'unavailable' : await this.attempt(pendingAnswer);
      isAway ||= result === 'unavailable';
      const isLost =
        result === 'refused' || (isAway && Date.now() - pendingAnswer.since > MEMORY_MS);
      if (isLost) this.logger.error({ msg: 'Answer lost', turnId: pendingAnswer.answer.turnId });
      if (isLost || result === 'stored') this.forget(pendingAnswer);
    }
    return !isAway;
  }

  private async storeFiles(stopping: AbortSignal): Promise<void> {
    let failures = 0;
    for (const name of await this.spool.names(FILES_AT_ONCE)) {
      if (stopping.aborted || failures === FAILURES) return;
      const pendingAnswer = await this.readFile(name);
      if (!pendingAnswer) continue;
      const { turnId } = pendingAnswer.answer;
      const result: Attempt = await this.attempt(pendingAnswer);
      if (result === 'unavailable') failures += 1;
      else if (result === 'stored') {
        await this.spool.remove(name);
        this.logger.log({ msg: 'Kept answer stored', turnId });
      } else {
        await this.spool.refuse(name);
        this.logger.error({ msg: 'Kept answer refused by the database', turnId, file: name });
      }
    }
  }

  private async readFile(name: string): Promise<KeptAnswer | undefined> {
    try {
      return await this.spool.read(name);
    } catch (error) {
      this.logger.error({ msg: 'Kept answer is not readable', file: name, err: error });
      await this.spool.refuse(name);
      return undefined;
    }
  }

  private forget(pendingAnswer: Remembered): void {
    if (this.remembered.delete(pendingAnswer.answer.turnId))
      this.characters -= charactersOf(pendingAnswer);
  }
}

function charactersOf({ answer }: KeptAnswer): number {
  return answer.content.length + answer.reasoning.length;
}
