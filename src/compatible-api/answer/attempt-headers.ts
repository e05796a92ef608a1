import type { Response } from 'express';
import type { Caller } from '../../platform/access/index.js';
import { CallTrail } from '../../model/index.js';
import type { LimitLeft } from '../../usage/index.js';
import { IgnoredParameters } from './ignored-parameters.js';

const MESSAGES = /^\/v1\/messages(\/|$)/i;

/**
 * Says which model answers, where its service was called several times or it is another one than was asked for, and how much is
 * left of the limits of Plinth and of the service.
 */
export function nameAttempts(response: Response, trail: CallTrail): void {
  const { isEventful, modelName, size, nearestLimits, upstreamLimits } = trail;
  if (isEventful && modelName !== undefined) {
    response.setHeader('x-plinth-model', encodeURIComponent(modelName));
    response.setHeader('x-plinth-attempts', size);
  }
  const { requests, tokens } = nearestLimits ?? {};
  const isMessages = MESSAGES.test(response.req.path);
  for (const [what, limit] of [['requests', requests] as const, ['tokens', tokens] as const]) {
    if (limit) response.set(isMessages ? ofMessages(what, limit) : ofOpenAi(what, limit));
  }
  for (const [name, value] of Object.entries(upstreamLimits)) {
    response.setHeader(`x-upstream-${name.replace(/^x-/, '')}`, value);
  }
}

/** As OpenAI writes them: the time is a duration. */
function ofOpenAi(what: string, { cap, remaining, resetSeconds }: LimitLeft): object {
  return {
    [`x-ratelimit-limit-${what}`]: String(cap),
    [`x-ratelimit-remaining-${what}`]: String(Math.floor(remaining)),
    [`x-ratelimit-reset-${what}`]: durationOf(Math.ceil(resetSeconds)),
  };
}

/** As Anthropic writes them: the time is a moment. */
function ofMessages(what: string, { cap, remaining, resetSeconds }: LimitLeft): object {
  const moment = new Date(Date.now() + Math.ceil(resetSeconds) * 1_000);
  return {
    [`anthropic-ratelimit-${what}-limit`]: String(cap),
    [`anthropic-ratelimit-${what}-remaining`]: String(Math.floor(remaining)),
    [`anthropic-ratelimit-${what}-reset`]: moment.toISOString().replace(/\.\d+/, ''),
  };
}

/** `1h2m3s`, `6m0s`, `12s`. */
function durationOf(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const begin = `${hours > 0 ? `${hours}h` : ''}${hours + minutes > 0 ? `${minutes}m` : ''}`;
  return `${begin}${seconds % 60}s`;
}

/** One call that is answered in one piece. */
export interface NamedCall {
  readonly trail: CallTrail;
  readonly ignored: IgnoredParameters;
}

/** The answer of a call. Headers of the response name its attempts, limits and ignored parameters, those of a failure as well. */
export async function namingCall<T>(
  caller: Pick<Caller, 'apiKey'>,
  response: Response,
  call: (named: NamedCall) => Promise<T>,
): Promise<T> {
  const trail = new CallTrail();
  const ignored = IgnoredParameters.of(caller);
  try {
    return await call({ trail, ignored });
  } finally {
    nameAttempts(response, trail);
    ignored.name(response, trail);
  }
}
