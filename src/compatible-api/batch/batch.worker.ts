import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { systemCaller, TenantRevision } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database, inTenant, isOutage } from '../../platform/database/index.js';
import { DomainError, UnavailableError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { localized } from '../../platform/http/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import { ContentMissingError, isRefused, UploadEngine } from '../../platform/storage/index.js';
import type { ReceivedFile } from '../../platform/storage/index.js';
import { ATTRIBUTE, traced } from '../../platform/tracing/index.js';
import { ChatStreams } from '../../chat/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { UpstreamError } from '../../provider/index.js';
import { ApiFiles } from '../files/api-files.service.js';
import type { ApiBatch, BatchStatus, BatchUsage, EndedLineStatus } from './api-batch.entity.js';
import { BatchOwnerError, InterruptedLineError, LineRightsError } from './api-batch.errors.js';
import { ApiBatchRepository, MAX_ATTEMPTS } from './api-batch.repository.js';
import type {
  BatchKey,
  EndedLine,
  LeasedBatch,
  LeasedLine,
  NewLine,
  PutBack,
} from './api-batch.repository.js';
import { BatchInput, linesOf } from './batch-input.js';
import { NO_USAGE, plusUsageOf, resultLine } from './batch-results.js';
import { LineAnswers } from './line-answers.js';

const SWEEP_MS = 5_000;
const RENEWAL_MS = 15_000;
/** Lines per statement. */
const LINES_AT_ONCE = 200;
/** Maximum characters of requests per statement. */
const CHARS_AT_ONCE = 4_000_000;
/** Maximum bytes of a result file; no batch reaches it. */
const MAX_RESULT_BYTES = 2 ** 40;

/** Delays of a batch if the failure names none, and their maximum. */
const THROTTLED_SECONDS = 10;
const AWAY_SECONDS = 10;
const MAX_WAIT_SECONDS = 600;

/**
 * Answers batches: reads their files, answers their lines with the places that other answers leave, and writes their results. Rows
 * say what is to be done, and leases who does it, so that any process goes on where one has stopped. A line is stored before it
 * counts as answered: the one that a process was answering when it was killed is asked again.
 */
@Injectable()
export class BatchWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Batches');
  private readonly stopping = new AbortController();
  /** Leases of this process by token. */
  private readonly leases = new Map<string, AbortController>();
  private readonly running = new Set<Promise<void>>();
  private rounds: IntervalJob | undefined;
  private renewals: IntervalJob | undefined;
  /** Whether something has changed since the round began. */
  private isDue = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: ApiBatchRepository,
    private readonly files: ApiFiles,
    private readonly uploads: UploadEngine,
    private readonly answers: LineAnswers,
    private readonly streams: ChatStreams,
    private readonly revision: TenantRevision,
    private readonly database: Database,
    metrics: Metrics,
  ) {
    metrics.expiredLeases('batch', () => repository.expiredLeases());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    if (this.config.embedded) await this.repository.expireAllLeases();
    this.renewals = new IntervalJob(RENEWAL_MS, () => this.renew());
    this.rounds = new IntervalJob(SWEEP_MS, () => this.sweep());
    this.rounds.runNow();
  }

  /** Running lines are put back. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    for (const lease of this.leases.values()) lease.abort();
    await this.rounds?.stop();
    await Promise.all(this.running);
    await this.renewals?.stop();
  }

  /** Wakes the worker; only a hint. */
  wake(): void {
    this.isDue = true;
    this.rounds?.runNow();
  }

  private hasMore(): boolean {
    return this.isDue && !this.stopping.signal.aborted;
  }

  private async sweep(): Promise<void> {
    try {
      await this.repository.recover();
      do {
        this.isDue = false;
        await this.round();
      } while (this.hasMore());
    } catch (error) {
      // The next round tries again.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to work on batches', err: error });
    }
  }

  private async round(): Promise<void> {
    await this.eachBatch(
      (token) => this.repository.claimInput(token),
      (batch, signal) => this.readInput(batch, signal),
    );
    while (!this.stopping.signal.aborted && this.streams.hasLinePlace) {
      const passed = this.streams.usersWithoutLinePlace();
      const line = await this.repository.claimLine(randomUUID(), passed);
      if (!line) break;
      this.begin(line);
    }
    await this.eachBatch(
      (token) => this.repository.claimEnd(token),
      (batch, signal) => this.writeResults(batch, signal),
    );
  }

  private async eachBatch(
    claim: (token: string) => Promise<BatchKey | undefined>,
    work: (batch: LeasedBatch, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const token = randomUUID();
      const key = await claim(token);
      if (!key) return;
      await inTenant(key.tenantId, () =>
        this.leased(token, async (signal) => {
          const batch = await this.repository.claimed(key, token);
          if (!batch) return;
          try {
            await work(batch, signal);
          } catch (error) {
            const isAway = error instanceof UnavailableError || isOutage(error);
            if (!isAway && !(error instanceof ContentMissingError) && !signal.aborted) {
              this.logger.error({ msg: 'Failed to work on a batch', batch: batch.id, err: error });
            }
            const seconds = this.stopping.signal.aborted ? 0 : AWAY_SECONDS;
            await this.repository.putOff(batch, seconds);
          }
        }),
      );
    }
  }

  /** Checks the file of a batch, and only then stores its requests. */
  private async readInput(batch: LeasedBatch, signal: AbortSignal): Promise<void> {
    const owner = await this.ownerOf(batch);
    const fileId = batch.inputFile ?? '';
    if (batch.expireTime.getTime() <= Date.now()) {
      const message = localized(msg`The file could not be read before the batch expired.`);
      await this.repository.fail(batch, [
        { code: 'batch_expired', line: null, message, param: null },
      ]);
      return;
    }
    const input = new BatchInput(batch.endpoint);
    try {
      for await (const text of linesOf((await this.files.open(owner, fileId)).content)) {
        signal.throwIfAborted();
        if (text === undefined) input.refuseLength();
        else input.read(text);
      }
    } catch (error) {
      if (!(error instanceof DomainError) || error instanceof ContentMissingError) throw error;
      if (error instanceof UnavailableError) throw error;
      const message = localized(error.userMessage);
      const param = 'input_file_id';
      await this.repository.fail(batch, [{ code: 'invalid_file', line: null, message, param }]);
      return;
    }
    const problems = input.problems();
    if (problems.length > 0) {
      await this.repository.fail(batch, problems);
      return;
    }
    const again = new BatchInput(batch.endpoint);
    let lines: NewLine[] = [];
    let chars = 0;
    const flush = async (): Promise<void> => {
      if (lines.length > 0) await this.repository.addLines(batch, lines);
      lines = [];
      chars = 0;
    };
    for await (const text of linesOf((await this.files.open(owner, fileId)).content)) {
      signal.throwIfAborted();
      const line = again.read(text ?? '');
      if (!line) continue;
      lines.push(line);
      chars += line.request.length;
      if (lines.length >= LINES_AT_ONCE || chars >= CHARS_AT_ONCE) await flush();
    }
    await flush();
    await this.repository.begin(batch, input.modelName);
  }

  private begin(line: LeasedLine): void {
    const release = this.streams.beginLine(line.batch.userId);
    const attributes = () => ({
      [ATTRIBUTE.messagingSystem]: 'plinth',
      [ATTRIBUTE.messagingOperation]: 'process',
      [ATTRIBUTE.messagingDestination]: 'batch.line',
      [ATTRIBUTE.messagingId]: `${line.batch.id}:${line.position}`,
      [ATTRIBUTE.tenantId]: line.tenantId,
    });
    const work = inTenant(line.tenantId, () =>
      this.leased(line.token, (signal) =>
        traced('process batch.line', { kind: 'consumer', attributes }, () =>
          this.answer(line, signal),
        ),
      ),
    )
      .catch((error: unknown) => {
        // The lease expires.
        if (!isOutage(error)) this.logger.warn({ msg: 'Failed to end a line', err: error });
      })
      .finally(() => {
        release();
        this.running.delete(work);
        if (!this.stopping.signal.aborted) this.wake();
      });
    this.running.add(work);
  }

  private async answer(line: LeasedLine, signal: AbortSignal): Promise<void> {
    const { tenantId, batchNumber: number, batch } = line;
    try {
      const caller = await this.answers.callerOf({ ...batch, tenantId });
      await this.repository.endLine(line, await this.answers.answer(caller, line, signal));
    } catch (error) {
      // Another process has taken the line, or it is no longer needed.
      if (signal.aborted && !this.stopping.signal.aborted) return;
      const isAtOnce = signal.aborted || error instanceof LineRightsError;
      const again = isAtOnce ? AT_ONCE : waitAfter(error, line.attempts);
      if (again) {
        await this.repository.putBack(line, again);
        return;
      }
      const end = this.answers.failed(batch, error);
      if (error instanceof BatchOwnerError) {
        await this.repository.endWaiting({ tenantId, number }, end);
      }
      await this.repository.endLine(line, end);
    }
  }

  /** Writes the files of a batch whose lines have all ended. */
  private async writeResults(batch: LeasedBatch, signal: AbortSignal): Promise<void> {
    const owner = await this.ownerOf(batch);
    const isOpenAi = batch.protocol === 'openai';
    let sum = NO_USAGE;
    const output =
      isOpenAi && batch.succeededCount === 0
        ? undefined
        : await this.write(batch, 'output', {
            statuses: isOpenAi ? ['succeeded'] : ['succeeded', ...OTHER_ENDS],
            // Message results contain their usage.
            onLine: ({ response }) => {
              if (isOpenAi) sum = plusUsageOf(sum, response);
            },
            signal,
          });
    const errors =
      isOpenAi && batch.succeededCount < batch.totalCount
        ? await this.write(batch, 'errors', { statuses: OTHER_ENDS, signal })
        : undefined;
    const { outputSeconds } = batch;
    const fileOptions = {
      purpose: 'batch_output',
      keptSeconds: outputSeconds ?? undefined,
    } as const;
    const isEnded = await this.database
      .transaction(async () => {
        const outputFile = output ? await this.files.add(owner, output, fileOptions) : null;
        const errorFile = errors ? await this.files.add(owner, errors, fileOptions) : null;
        const status = statusOf(batch);
        const usage: BatchUsage | null = sum.input + sum.output > 0 ? sum : null;
        const isOurs = await this.repository.end(batch, { status, outputFile, errorFile, usage });
        if (!isOurs) throw new LeaseLostError();
        return true;
      })
      .catch((error: unknown) => {
        if (error instanceof LeaseLostError) return false;
        throw error;
      });
    if (isEnded) this.logger.log({ msg: 'Batch ended', batch: batch.id, tenantId: batch.tenantId });
  }

  /** Writes a file of the lines with these statuses. A file without a record is swept. */
  private async write(
    batch: LeasedBatch,
    name: string,
    { statuses, onLine, signal }: ResultFile,
  ): Promise<ReceivedFile> {
    const lines = this.endedLines(batch, statuses, signal);
    async function* text(): AsyncGenerator<Buffer, void> {
      for await (const line of lines) {
        onLine?.(line);
        yield Buffer.from(resultLine(batch, line));
      }
    }
    const source = Readable.from(text());
    // The upload reports the failure; it may have ended by then.
    source.on('error', () => undefined);
    const fileName = `${batch.id}_${name}.jsonl`;
    const file = await this.uploads.receive(source, fileName, signal, MAX_RESULT_BYTES);
    if (isRefused(file)) throw file.refusal;
    return file;
  }

  private async *endedLines(
    batch: LeasedBatch,
    statuses: readonly EndedLineStatus[],
    signal: AbortSignal,
  ): AsyncGenerator<EndedLine, void> {
    for (let after = -1; !signal.aborted;) {
      const page = { statuses, after, limit: LINES_AT_ONCE };
      const lines = await this.repository.endedLines(batch, page);
      for (const line of lines) yield withReason(batch, line, this.answers);
      const last = lines.at(-1);
      if (!last) return;
      after = last.position;
    }
  }

  /** Owner of the batch's files, regardless of current rights. */
  private async ownerOf({ tenantId, homeTenantId, userId }: ApiBatch): Promise<Caller> {
    const system = systemCaller(tenantId, await this.revision.current(tenantId));
    return { ...system, homeTenantId, userId };
  }

  /** Runs the work while this process has the lease. */
  private async leased(token: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const lease = new AbortController();
    this.leases.set(token, lease);
    if (this.stopping.signal.aborted) lease.abort();
    try {
      await work(lease.signal);
    } finally {
      this.leases.delete(token);
    }
  }

  private async renew(): Promise<void> {
    const tokens = [...this.leases.keys()];
    if (tokens.length === 0) return;
    try {
      const renewed = await this.repository.renew(tokens);
      for (const token of tokens) if (!renewed.has(token)) this.leases.get(token)?.abort();
    } catch (error) {
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to renew batches', err: error });
    }
  }
}

class LeaseLostError extends Error {}

/** Result of a line without an answer. */
const OTHER_ENDS: readonly EndedLineStatus[] = ['errored', 'canceled', 'expired'];

/** Contents of a result file. */
interface ResultFile {
  readonly statuses: readonly EndedLineStatus[];
  readonly onLine?: (line: EndedLine) => void;
  readonly signal: AbortSignal;
}

function statusOf({ status, expiredCount }: ApiBatch): BatchStatus {
  if (status === 'cancelling') return 'cancelled';
  return expiredCount > 0 ? 'expired' : 'completed';
}

/** Lines without an answer contain their error. */
function withReason(batch: ApiBatch, line: EndedLine, answers: LineAnswers): EndedLine {
  if (line.status !== 'errored' || line.response !== null) return line;
  return {
    ...line,
    ...answers.failed(batch, new InterruptedLineError(MAX_ATTEMPTS)),
    status: 'errored',
  };
}

const AT_ONCE: PutBack = { seconds: 0, isCounted: false };

/**
 * The next attempt of a line. A throttled or limited line waits as long as its batch; another transient failure of a service
 * counts towards MAX_ATTEMPTS. Undefined for a failure that becomes the line's result.
 */
function waitAfter(error: unknown, attempts: number): PutBack | undefined {
  if (error instanceof LimitReachedError) {
    // A call larger than the limit would never fit.
    const { cap, needed } = error.limit;
    return needed > cap ? undefined : waiting(error.retryAfterSeconds);
  }
  if (error instanceof UpstreamError) {
    const { kind, retryAfterMs, isExhausted, retryable } = error;
    if (kind === 'rate-limit' || kind === 'overloaded') {
      const usual = isExhausted ? MAX_WAIT_SECONDS : THROTTLED_SECONDS;
      return waiting(retryAfterMs === undefined ? usual : Math.ceil(retryAfterMs / 1_000));
    }
    if (!retryable || attempts >= MAX_ATTEMPTS) return undefined;
    return { ...waiting(AWAY_SECONDS * 4 ** (attempts - 1)), isCounted: true };
  }
  return error instanceof UnavailableError || isOutage(error) ? waiting(AWAY_SECONDS) : undefined;
}

function waiting(seconds: number): PutBack {
  return { seconds: Math.min(Math.max(1, seconds), MAX_WAIT_SECONDS), isCounted: false };
}
