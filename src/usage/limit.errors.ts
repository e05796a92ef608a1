import { ConflictError, InvalidInputError, TooManyRequestsError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { LimitMeasure, LimitScope } from './limit.entity.js';

/** A limit that refuses a call. */
export interface ReachedLimit {
  readonly id: number;
  readonly scope: LimitScope;
  readonly measure: LimitMeasure;
  readonly cap: number;
  /** Used by completed calls. */
  readonly used: number;
  /** The most that running calls may use. */
  readonly reserved: number;
  /** The most that the refused call may use. */
  readonly needed: number;
}

export interface Refusal extends ReachedLimit {
  /** The call may be accepted once others have ended, or within a minute. */
  readonly isPassing: boolean;
  readonly retrySeconds: number;
}

const SCOPE_NAMES: Readonly<Record<LimitScope, Message>> = {
  tenant: msg`the tenant`,
  user: msg`the user`,
  key: msg`the API key`,
  model: msg`the model`,
  group: msg`the group`,
  tag: msg`the tag`,
};

const MEASURE_NAMES: Readonly<Record<LimitMeasure, Message>> = {
  'requests-minute': msg`requests per minute`,
  'tokens-minute': msg`tokens per minute`,
  'calls-concurrent': msg`concurrent calls`,
  'tokens-day': msg`tokens per day`,
  'tokens-month': msg`tokens per month`,
  'cost-day': msg`cost per day`,
  'cost-month': msg`cost per month`,
};

/** A limit of the tenant refuses a call of a model; no service was called. */
export class LimitReachedError extends TooManyRequestsError {
  /** False: the budget of a day or month does not suffice, whatever other calls do. */
  readonly isPassing: boolean;
  readonly limit: ReachedLimit;

  constructor({ isPassing, retrySeconds, ...limit }: Refusal) {
    super(messageOf(limit, isPassing, retrySeconds), {
      data: { limit, retryAfterSeconds: retrySeconds },
      retryAfterSeconds: retrySeconds,
    });
    this.isPassing = isPassing;
    this.limit = limit;
  }
}

function messageOf(
  { scope, measure, cap }: ReachedLimit,
  isPassing: boolean,
  seconds: number,
): Message {
  const what = MEASURE_NAMES[measure];
  const whose = SCOPE_NAMES[scope];
  const isOfPeriod = measure.endsWith('-day') || measure.endsWith('-month');
  if (!isOfPeriod && !isPassing) {
    return msg`This call may use more than the limit of ${cap} ${what} for ${whose} allows. Ask for a shorter answer, send less, or ask an administrator to raise the limit.`;
  }
  if (!isOfPeriod) {
    return msg`The limit of ${cap} ${what} for ${whose} is reached. Try again in ${seconds} seconds.`;
  }
  return isPassing
    ? msg`What is left of the limit of ${cap} ${what} for ${whose} is reserved by calls that are running. Try again in ${seconds} seconds.`
    : msg`What is left of the limit of ${cap} ${what} for ${whose} does not suffice for this call. Ask for a shorter answer, wait for the next period, or ask an administrator to raise the limit.`;
}

export class LimitExistsError extends ConflictError {
  constructor() {
    super(msg`There is a limit of this measure for the same scope already. Change that one.`);
  }
}

export class TooManyLimitsError extends ConflictError {
  constructor(most: number) {
    super(msg`A tenant can have at most ${most} limits. Remove one first.`);
  }
}

/** An id of another scope than that of the limit. */
export class LimitScopeError extends InvalidInputError {
  constructor(field: string, scope: string) {
    super(msg`${field} must be absent for a limit of the scope ${scope}.`);
  }
}

export class LimitCapError extends InvalidInputError {
  constructor() {
    super(msg`cap must be a whole number, unless it is a cost.`);
  }
}
