import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { isOutage, withStatementLimit } from '../../platform/database/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import type { ChatCall, RelayedBody } from '../../provider/index.js';
import { CallBooks } from '../books/call.books.js';
import type { Attempt } from '../calls/attempt.js';
import type { LimitLeft } from '../calls/call.trail.js';
import type { ModelUse, ModelUser } from '../calls/model-use.js';
import type { ResolvedChatModel, ResolvedModel } from '../model.resolver.js';
import { LimitReachedError } from './limit.errors.js';
import type { SetLimit } from './limit.repository.js';
import { ReservationRepository } from './reservation.repository.js';
import { isOutputLimit, outputLimitIn } from './worst-case.js';
import type { WorstCase } from './worst-case.js';

/** The limits of a model's record that a call has to ask. */
export interface LimitedCall {
  readonly model: ResolvedModel;
  readonly use: ModelUse;
  /** Of the attempt: requests are counted by the first, those of a model by the first at this model. */
  readonly number: number;
  /** An earlier attempt of the call was made at this model. */
  readonly isRepeat: boolean;
  readonly worst: WorstCase;
}

/** Renewals in the time of a lease. */
const RENEWALS = 3;

/**
 * Holds calls to the limits of their tenant: what a call may use at most is reserved before it begins and replaced by what it
 * has used when it ends. Only for models with limits (`ResolvedModel.limits`); calls of others come nowhere near.
 */
@Injectable()
export class UsageLimiter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  /** Reservations of calls that run. */
  private readonly held = new Set<string>();
  private renewals: IntervalJob | undefined;
  private readonly renewMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly reservations: ReservationRepository,
    private readonly books: CallBooks,
    private readonly metrics: Metrics,
  ) {
    this.renewMs = (config.LIMIT_LEASE_SECONDS * 1_000) / RENEWALS;
  }

  onApplicationBootstrap(): void {
    this.renewals = new IntervalJob(this.renewMs, () => this.renew());
  }

  /** Calls are over by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.renewals?.stop();
  }

  /**
   * Reserves what the call may use at most, in one statement for all limits. Answers the id that its row of the books must have;
   * undefined where no budget applies. LimitReachedError when one of the limits refuses it; then nothing is reserved.
   */
  async reserve({ model, use, number, isRepeat, worst }: LimitedCall): Promise<string | undefined> {
    const { caller } = use;
    const limits = limitsOf(model, caller).filter((limit) => {
      if (isBudget(limit)) return true;
      return limit.scope === 'model' ? !isRepeat : number === 1;
    });
    if (limits.length === 0) return undefined;
    try {
      return await this.reserveIn(limits, { model, use, worst });
    } finally {
      await this.tell(model, use);
    }
  }

  private async reserveIn(
    limits: readonly SetLimit[],
    { model, use: { caller }, worst }: Pick<LimitedCall, 'model' | 'use' | 'worst'>,
  ): Promise<string | undefined> {
    const { tenantId, id: modelId, priceVersion = null } = model;
    const id = randomUUID();
    const isOfBatch = caller.origin === 'batch';
    const request = {
      ...{ tenantId, id, modelId, priceVersion, worst, isOfBatch },
      leavesHalf: isOfBatch && !limits.every(isBudget),
      limits: limits.map((limit) => limit.id),
      userId: caller.userId,
      apiKeyId: caller.apiKey?.id ?? null,
    };
    let refusals = await this.reservations.reserve(request);
    if (refusals.length > 0 && this.books.isSettling) {
      // Calls of this process that have ended still hold what they did not use.
      await this.books.settled();
      refusals = await this.reservations.reserve(request);
    }
    const [refusal] = refusals.toSorted((one, other) => other.retrySeconds - one.retrySeconds);
    if (refusal) {
      this.metrics.limitReached(refusal.measure);
      throw new LimitReachedError(refusal);
    }
    if (!limits.some(isBudget)) return undefined;
    this.held.add(id);
    return id;
  }

  /** Programs learn in headers how much is left. */
  private async tell(model: ResolvedModel, { caller, trail }: ModelUse): Promise<void> {
    if (!trail || caller.origin !== 'v1') return;
    const { tenantId, id: modelId } = model;
    const left = await this.reservations
      .left({
        ...{ tenantId, modelId, userId: caller.userId, apiKeyId: caller.apiKey?.id ?? null },
        limits: limitsOf(model, caller).map(({ id }) => id),
      })
      .catch((error: unknown) => {
        // The call goes on without these headers.
        if (!isOutage(error)) this.logger.warn({ msg: 'Failed to read limits', err: error });
        return [];
      });
    const nearest = (measure: string): LimitLeft | undefined =>
      left
        .filter((limit) => limit.measure.startsWith(measure))
        .sort((one, other) => one.remaining - other.remaining)[0];
    trail.nearestLimits = { requests: nearest('requests-'), tokens: nearest('tokens-') };
  }

  /** Gives back what a call has reserved that was not made. */
  async release({ tenantId }: ResolvedModel, id: string): Promise<void> {
    this.held.delete(id);
    try {
      await this.reservations.release(tenantId, id);
    } catch (error) {
      // Its lease ends.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to release reservation', err: error });
    }
  }

  /** Books the attempt, and counts what it has used instead of what it had reserved. */
  settle(attempt: Attempt, id: string): void {
    void this.books.settle(attempt).finally(() => this.held.delete(id));
  }

  /** The call with a limit of its answer where a budget applies: what is not limited cannot be reserved. */
  withMaximum(model: ResolvedModel, { caller }: ModelUse, call: ChatCall): ChatCall {
    if (call.maxTokens !== undefined || !limitsOf(model, caller).some(isBudget)) return call;
    return { ...call, maxTokens: this.mostOutput(model) };
  }

  /** The same for a body that is passed on. */
  bodyWithMaximum(model: ResolvedChatModel, { caller }: ModelUse, body: RelayedBody): RelayedBody {
    if (outputLimitIn(body) !== undefined || !limitsOf(model, caller).some(isBudget)) return body;
    const others = Object.entries(body).filter(([name]) => !isOutputLimit(name));
    const { adapter, connection } = model;
    const isOfResponses = adapter.protocol(connection.address) === 'responses';
    const field = isOfResponses ? 'max_output_tokens' : 'max_tokens';
    return { ...Object.fromEntries(others), [field]: this.mostOutput(model) };
  }

  private mostOutput({ maxOutput, contextWindow = Infinity }: ResolvedModel): number {
    return maxOutput ?? Math.min(this.config.LIMIT_ANSWER_TOKENS, Math.floor(contextWindow / 2));
  }

  private async renew(): Promise<void> {
    if (this.held.size === 0) return;
    try {
      await withStatementLimit(this.renewMs, () => this.reservations.renew([...this.held]));
    } catch (error) {
      // The next renewal may come in time.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to renew reservations', err: error });
    }
  }
}

/** Those of the model's limits that apply to the caller. The service itself, with user id 0, has those of no user. */
function limitsOf({ limits = [] }: ResolvedModel, caller: ModelUser): readonly SetLimit[] {
  const { userId, apiKey } = caller;
  return limits.filter((limit) => {
    if (limit.scope === 'user') return userId > 0 && (limit.userId ?? userId) === userId;
    if (limit.scope === 'key') return apiKey && (limit.apiKeyId ?? apiKey.id) === apiKey.id;
    return true;
  });
}

function isBudget({ measure }: SetLimit): boolean {
  return measure !== 'requests-minute';
}
