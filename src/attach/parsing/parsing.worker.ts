import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import { systemCaller, TenantRevision } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, isOutage, unavailableError } from '../../platform/database/index.js';
import { Dependencies } from '../../platform/dependency/index.js';
import type { Dependency } from '../../platform/dependency/index.js';
import { DomainError, UnavailableError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { UserCallers } from '../../identity/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { UpstreamError } from '../../provider/index.js';
import { IntervalJob, JobQueue } from '../../platform/queue/index.js';
import type { QueuedJob } from '../../platform/queue/index.js';
import { english, msg, sentences } from '../../platform/message/index.js';
import { VectorStoreError } from '../../vector-store/index.js';
import { DocumentIndexer } from './document-indexer.js';
import { DocumentLease } from './document-lease.js';
import { ATTEMPTS, ParsingRepository } from './parsing.repository.js';
import {
  LeaseLostError,
  MissingVectorsError,
  RequesterGoneError,
  SettingsChangedError,
  SourceElsewhereError,
} from './parsing.errors.js';
import type { Claim, ClaimedAttachment, Release, WaitingDocument } from './parsing.repository.js';
import { PARSE_JOB, PARSE_LARGE_JOB, ParsingQueue } from './parsing.queue.js';

const SWEEP_MS = 15_000;
const SWEPT_AT_ONCE = 500;
const FIRST_RETRY_SECONDS = 5;
/** Size of the column. */

/**
 * Duration and interval of retries that do not count: the source file is missing on this process, but may exist on
 * another. A limit of the tenant is waited for if it renews within this time.
 */
const AWAITED_MS = 60 * 60_000;
const MISSING_SECONDS = 30;
/**
 * Interval of attempts while the vector store, the file storage or the database is unavailable; the longer one after
 * the first hour. These attempts do not end.
 */
const AWAY_SECONDS = 10;
const LONG_AWAY_SECONDS = 60;
/** Interval of attempts to record an outcome. */
const RECORD_RETRY_MS = 1_000;

const DIED = msg`The service stopped three times while it parsed this document. Parse it again, or split the file into smaller ones.`;

const CHANGED = msg`The settings of the knowledge base have changed.`;

/**
 * Parses the documents that wait. The queue only hints that there may be work: a claim of the row decides, and every 15
 * seconds a sweep finds rows that no job has announced.
 */
@Injectable()
export class ParsingWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Parsing');
  private readonly running = new Map<number, DocumentLease>();
  private readonly store: Dependency;
  private sweeps: IntervalJob | undefined;
  private subscriptions: (() => void)[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly parsing: ParsingQueue,
    private readonly bus: EventBus,
    private readonly repository: ParsingRepository,
    private readonly indexer: DocumentIndexer,
    private readonly callers: UserCallers,
    private readonly revision: TenantRevision,
    dependencies: Dependencies,
    metrics: Metrics,
  ) {
    this.store = dependencies.of('store');
    metrics.gauge(
      'plinth_documents_waiting',
      'Documents of which parsing is asked for and has not begun',
      async () => (await repository.waiting()).count,
    );
    metrics.gauge(
      'plinth_documents_waiting_seconds',
      'How long the oldest of them has waited',
      async () => (await repository.waiting()).oldestSeconds,
    );
    metrics.expiredLeases('document', () => repository.expiredLeases());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    this.subscriptions = [
      // The event is only a hint: the row says whether the claim of this worker is abandoned.
      this.bus.subscribe('attachment.abandoned', ({ attachmentId }) =>
        checkLease(this.running.get(attachmentId)),
      ),
      this.bus.onResumed(() => {
        for (const lease of this.running.values()) checkLease(lease);
      }),
    ];
    if (this.config.embedded) await this.repository.expireAllLeases();
    for (const kind of [PARSE_JOB, PARSE_LARGE_JOB]) {
      this.queue.handle(kind, (job, signal) =>
        inTenant(String(job.data['tenantId']), () => this.take(job, signal)),
      );
    }
    this.sweeps = new IntervalJob(SWEEP_MS, (stopping) => this.sweep(stopping));
    this.sweeps.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    await this.sweeps?.stop();
  }

  private async sweep(stopping: AbortSignal): Promise<void> {
    if (this.store.isLimited) return;
    try {
      await this.repository.failExhausted(DIED);
      for (const document of await this.repository.due(SWEPT_AT_ONCE)) {
        if (stopping.aborted) return;
        await this.parsing.announce(document);
      }
    } catch (error) {
      // The next sweep tries again.
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to look for waiting documents', err: error });
      }
    }
  }

  private async take({ data }: QueuedJob, stopping: AbortSignal): Promise<void> {
    // An attempt whose end cannot be stored would count. A sweep announces the document again.
    if (this.store.isLimited) return;
    const claim = {
      tenantId: String(data['tenantId']),
      id: Number(data['attachmentId']),
      token: randomUUID(),
    };
    const attachment = await this.repository.claim(claim);
    if (!attachment) return;
    const lease = new DocumentLease(claim, (leasedClaim, progress) =>
      // The renewal may have been requested by an event.
      inTenant(claim.tenantId, async () => {
        if (!(await this.repository.renew(leasedClaim, progress))) return new LeaseLostError();
        const caller = await this.callerOf(claim, attachment);
        return caller ? undefined : new RequesterGoneError();
      }),
    );
    this.running.set(claim.id, lease);
    try {
      const caller = await this.callerOf(claim, attachment);
      if (!caller) throw new RequesterGoneError();
      const signal = AbortSignal.any([lease.signal, stopping]);
      const attempt = { caller, attachment, lease, signal };
      if (attachment.vectorsOnly) await this.indexer.restoreVectors(attempt);
      else await this.indexer.run(attempt);
    } catch (error) {
      const reason: unknown = lease.signal.aborted ? lease.signal.reason : error;
      await this.recordOutcomeWithRetry(claim, attachment, { error: reason, stopping });
    } finally {
      if (this.running.get(claim.id) === lease) this.running.delete(claim.id);
      await lease.end();
    }
  }

  /** The user who requested the parsing; undefined if they may no longer act in the tenant. */
  private async callerOf(
    { tenantId }: Claim,
    { requestedBy, requestedHome }: ClaimedAttachment,
  ): Promise<Caller | undefined> {
    if (!requestedBy) return systemCaller(tenantId, await this.revision.current(tenantId));
    const homeTenantId = requestedHome ?? tenantId;
    return this.callers.find({ userId: requestedBy, homeTenantId, tenantId });
  }

  /** Tries again while the database is away: an attempt whose end is not stored counts as one that died. */
  private async recordOutcomeWithRetry(
    ...attempt: Parameters<ParsingWorker['recordOutcome']>
  ): Promise<void> {
    const [, , { stopping }] = attempt;
    for (;;) {
      try {
        await this.recordOutcome(...attempt);
        return;
      } catch (error) {
        if (!isOutage(error) || stopping.aborted) throw error;
        await sleep(RECORD_RETRY_MS, undefined, { signal: stopping }).catch(() => undefined);
      }
    }
  }

  /** Records how an attempt ended that did not succeed. */
  private async recordOutcome(
    claim: Claim,
    { attempts, awaitedSince, byteSize }: ClaimedAttachment,
    { error, stopping }: { readonly error: unknown; readonly stopping: AbortSignal },
  ): Promise<void> {
    const document = { ...claim, byteSize };
    // The row says why, or belongs to another worker.
    if (error instanceof LeaseLostError) return;
    if (stopping.aborted && !(error instanceof RequesterGoneError)) {
      const waitingFor = msg`The service is restarting.`;
      await this.repository.release(claim, { waitingFor, delaySeconds: 0, counted: false });
      return;
    }
    const wait = this.waitAfter(claim, error, awaitedSince);
    if (wait) {
      await this.again(document, { ...wait, counted: false });
      return;
    }
    const reason = this.reasonOf(claim, error);
    if (!isRetryable(error) || attempts >= ATTEMPTS) {
      await this.repository.fail(claim, reason);
      return;
    }
    const delaySeconds = FIRST_RETRY_SECONDS * 4 ** (attempts - 1);
    const waitingFor = sentences([msg`Attempt ${attempts + 1} of ${ATTEMPTS}.`, reason]);
    await this.again(document, { waitingFor, delaySeconds, counted: true });
  }

  /** Release for a retry that does not count; undefined if the attempt counts. */
  private waitAfter(
    { id: attachmentId }: Claim,
    error: unknown,
    awaitedSince: Date | null,
  ): Omit<Release, 'counted'> | undefined {
    if (error instanceof SettingsChangedError) return { waitingFor: CHANGED, delaySeconds: 0 };
    if (error instanceof LimitReachedError) {
      const { retryAfterSeconds: delaySeconds } = error;
      if (delaySeconds * 1_000 >= AWAITED_MS) return undefined;
      return { waitingFor: error.userMessage, delaySeconds };
    }
    const away = error instanceof UnavailableError ? error : unavailableError(error);
    if (away) {
      const waitingFor = away.userMessage;
      const delaySeconds = isAwaited(awaitedSince) ? AWAY_SECONDS : LONG_AWAY_SECONDS;
      return { waitingFor, delaySeconds, away: true };
    }
    if (!isAwaited(awaitedSince)) return undefined;
    if (error instanceof SourceElsewhereError) {
      const { waitingFor } = error;
      const dataDir = this.config.DATA_DIR;
      const details = { attachmentId, dataDir, reason: english(waitingFor) };
      this.logger.warn({ msg: 'Source file not found', ...details });
      return {
        waitingFor,
        delaySeconds: MISSING_SECONDS,
        away: true,
      };
    }
    return undefined;
  }

  /** Releases the document and adds a job for another attempt. */
  private async again(document: Claim & WaitingDocument, how: Release): Promise<void> {
    await this.repository.release(document, how);
    await this.parsing.announce(document, { delayMs: how.delaySeconds * 1_000 });
  }

  private reasonOf(claim: Claim, error: unknown): Message {
    if (error instanceof DomainError) return error.userMessage;
    this.logger.error({
      msg: 'Failed to parse document',
      attachmentId: claim.id,
      err: error,
    });
    return msg`The document could not be parsed because of an error of the service (see its log for document ${claim.id}). Parse it again.`;
  }
}

function checkLease(lease: DocumentLease | undefined): void {
  lease?.check().catch(() => undefined);
}

/** Whether another attempt may succeed: a service failed, or the error is not caused by the document. */
function isRetryable(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.retryable;
  if (error instanceof VectorStoreError || error instanceof MissingVectorsError) return true;
  return !(error instanceof DomainError);
}

function isAwaited(since: Date | null): boolean {
  return since === null || Date.now() - since.getTime() < AWAITED_MS;
}
