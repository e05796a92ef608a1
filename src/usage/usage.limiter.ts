import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { LimitRepository } from './limit.repository.js';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { groupIdsOf } from '../platform/access/index.js';
import { isOutage, withStatementLimit } from '../platform/database/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import { UsageLedger } from './usage.ledger.js';
import type { ModelUser, UsageEntry } from './usage.entry.js';
import { LimitReachedError } from './limit.errors.js';
import type { SetLimit } from './limit.repository.js';
import { RESERVATION, ReservationRepository } from './reservation.repository.js';
import type { LimitLeft, LimitSubjects, WorstCase } from './reservation.repository.js';

/** A model as its calls are limited. */
export interface LimitedModel {
  readonly id: number;
  readonly tenantId: string;
  readonly priceVersion?: number | undefined;
  readonly contextWindow?: number | undefined;
  readonly maxOutput?: number | undefined;
  /** The limits that its calls have to ask; undefined without any. */
  readonly limits?: readonly SetLimit[] | undefined;
}

/** The limits of the tenant that have the least left, of those that apply to a call. */
export interface NearestLimits {
  readonly requests?: LimitLeft | undefined;
  readonly tokens?: LimitLeft | undefined;
}

/** A call of a model with limits. */
export interface LimitedCall {
  readonly model: LimitedModel;
  readonly caller: ModelUser;
  /** The number of the attempt: requests are counted by the first, those of a model by the first at this model. */
  readonly number: number;
  /** An earlier attempt of the call was made at this model. */
  readonly isRepeat: boolean;
  readonly worst: WorstCase;
}

/** Renewals in the time of a lease. */
const RENEWALS = 3;

/**
 * Enforces the limits of tenants: the most that a call may use is reserved before it begins and replaced by what it
 * has used when it ends. Only for models with limits (`LimitedModel.limits`); calls of others are not checked.
 */
@Injectable()
export class UsageLimiter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  /** Reservations of calls that run. */
  private readonly reservedIds = new Set<string>();
  private renewals: IntervalJob | undefined;

  constructor(
    private readonly reservations: ReservationRepository,
    private readonly ledger: UsageLedger,
    private readonly metrics: Metrics,
    limits: LimitRepository,
  ) {
    metrics.gauge(
      'plinth_budgets_near_end',
      'Limits by day or month of which nine tenths are used',
      () => limits.nearEnd(),
    );
  }

  onApplicationBootstrap(): void {
    this.renewals = new IntervalJob(renewMs(), () => this.renew());
  }

  /** Calls are over by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.renewals?.stop();
  }

  /**
   * Reserves what the call may use at most, in one statement for all limits. Answers the id that its row of the usage ledger must have;
   * undefined where only requests are limited. LimitReachedError when one of the limits refuses it; then nothing is reserved.
   */
  async reserve(call: LimitedCall): Promise<string | undefined> {
    const { model, caller, number, isRepeat, worst } = call;
    const limits = limitsOf(model, caller).filter((limit) => {
      if (!isOfRequests(limit)) return true;
      return limit.scope === 'model' ? !isRepeat : number === 1;
    });
    if (limits.length === 0) return undefined;
    const id = randomUUID();
    const isOfBatch = caller.origin === 'batch';
    const request = {
      ...subjectsOf(model, caller, limits),
      id,
      priceVersion: model.priceVersion ?? null,
      worst,
      isOfBatch,
      leavesHalf: isOfBatch && limits.some(isOfRequests),
    };
    let refusals = await this.reservations.reserve(request);
    if (refusals.length > 0 && this.ledger.isSettling) {
      // Calls of this process that have ended still hold what they did not use.
      await this.ledger.settled();
      refusals = await this.reservations.reserve(request);
    }
    const [refusal] = refusals.toSorted((one, other) => other.retrySeconds - one.retrySeconds);
    if (refusal) {
      this.metrics.limitReached(refusal.measure);
      throw new LimitReachedError(refusal);
    }
    if (limits.every(isOfRequests)) return undefined;
    this.reservedIds.add(id);
    return id;
  }

  /** The remaining limits of the caller, for response headers. */
  async nearestLimits(model: LimitedModel, caller: ModelUser): Promise<NearestLimits | undefined> {
    const applying = limitsOf(model, caller);
    if (applying.length === 0) return undefined;
    const limits = await this.reservations
      .remaining(subjectsOf(model, caller, applying))
      .catch((error: unknown) => {
        // The call goes on without these headers.
        if (!isOutage(error)) this.logger.warn({ msg: 'Failed to read limits', err: error });
        return [];
      });
    const nearest = (measure: string): LimitLeft | undefined =>
      limits
        .filter((limit) => limit.measure.startsWith(measure))
        .sort((one, other) => one.remaining - other.remaining)[0];
    return { requests: nearest('requests-'), tokens: nearest('tokens-') };
  }

  /** Gives back what a call has reserved that was not made. */
  async release({ tenantId }: LimitedModel, id: string): Promise<void> {
    this.reservedIds.delete(id);
    try {
      await this.reservations.release(tenantId, id);
    } catch (error) {
      // The reservation expires with its lease.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to release reservation', err: error });
    }
  }

  /** Records the attempt, and counts what it has used instead of what it had reserved. */
  settle(entry: UsageEntry): void {
    void this.ledger.settle(entry).finally(() => this.reservedIds.delete(entry.id));
  }

  /** The longest answer that a call may ask for where a budget applies: what is not limited cannot be reserved. */
  maxOutput(model: LimitedModel, caller: ModelUser): number | undefined {
    if (!limitsOf(model, caller).some(isBudget)) return undefined;
    const { maxOutput, contextWindow = Infinity } = model;
    return maxOutput ?? Math.min(RESERVATION.answerTokens, Math.floor(contextWindow / 2));
  }

  private async renew(): Promise<void> {
    if (this.reservedIds.size === 0) return;
    try {
      await withStatementLimit(renewMs(), () => this.reservations.renew([...this.reservedIds]));
    } catch (error) {
      // The next renewal may come in time.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to renew reservations', err: error });
    }
  }
}

/** The model's limits that apply to the caller. The service itself, with user id 0, has no user limits. */
function limitsOf({ limits = [] }: LimitedModel, caller: ModelUser): readonly SetLimit[] {
  const { userId, apiKey, tags = [] } = caller;
  return limits.filter((limit) => {
    if (limit.scope === 'user') return userId > 0 && (limit.userId ?? userId) === userId;
    if (limit.scope === 'key') return apiKey && (limit.apiKeyId ?? apiKey.id) === apiKey.id;
    if (limit.scope === 'group') {
      const { groupId } = limit;
      return groupId === null
        ? groupIdsOf(caller).length > 0
        : caller.subjects.includes(`group:${groupId}`);
    }
    if (limit.scope === 'tag')
      return limit.tag === null ? tags.length > 0 : tags.includes(limit.tag);
    return true;
  });
}

/** What the limits count the call for. */
function subjectsOf(
  { id: modelId, tenantId }: LimitedModel,
  caller: ModelUser,
  limits: readonly SetLimit[],
): LimitSubjects {
  return {
    tenantId,
    limits: limits.map(({ id }) => id),
    userId: caller.userId,
    apiKeyId: caller.apiKey?.id ?? null,
    modelId,
    groupIds: groupIdsOf(caller),
    tags: caller.tags ?? [],
  };
}

/** Requests are counted once and not reserved. */
function isOfRequests({ measure }: SetLimit): boolean {
  return measure === 'requests-minute';
}

/** A limit of tokens or of costs, which a call may use up. */
function isBudget({ measure }: SetLimit): boolean {
  return measure.startsWith('tokens-') || measure.startsWith('cost-');
}

function renewMs(): number {
  return (RESERVATION.leaseSeconds * 1_000) / RENEWALS;
}
