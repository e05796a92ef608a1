import { setTimeout as delay } from 'node:timers/promises';
import { abortedError, UpstreamError } from './upstream.error.js';

export interface RetryOptions {
  /** Maximum attempts, the first included. */
  readonly attempts: number;
  readonly signal: AbortSignal;
  /** A service whose Retry-After is longer is not called again. Without this limit, Retry-After is cut to 20 seconds. */
  readonly maxRetryAfterMs?: number;
  /** Replaces the rules for another try: resolves when there is to be one, else throws what the call fails with. */
  readonly beforeRetry?: (error: unknown, attempt: number) => Promise<void>;
  /** A random number between 0 and 1; for tests. */
  readonly random?: () => number;
  /** Must leave no timer behind when the signal fires; for tests. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Observes the attempts of a stream. */
export interface StreamWatch<T> {
  /** Receives each part before the reader does. */
  read(part: T): void;
  /** Called once for each attempt that was opened or failed to open. `left`: the reader wants no more. */
  end(how: 'whole' | 'left' | { readonly error: unknown }): void;
}

const FIRST_BACKOFF_MS = 300;
const MAX_BACKOFF_MS = 5_000;
/** A caller is waiting for the answer. */
const MAX_RETRY_AFTER_MS = 20_000;

/**
 * Passes a stream on, and opens it again as long as it fails in a way that may pass and nothing has
 * come out of it. After the first part there is no second try, because the reader has seen it.
 */
export async function* retryBeforeFirstPart<T>(
  open: (attempt: number) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
  options: RetryOptions,
  watch?: StreamWatch<T>,
): AsyncGenerator<T, void, void> {
  for (let attempt = 1; ; attempt++) {
    let started = false;
    let failure: { readonly error: unknown } | undefined;
    let isWhole = false;
    try {
      for await (const part of await open(attempt)) {
        started = true;
        watch?.read(part);
        yield part;
      }
      isWhole = true;
      return;
    } catch (error) {
      failure = { error };
      if (started) throw error;
    } finally {
      watch?.end(failure ?? (isWhole ? 'whole' : 'left'));
    }
    await beforeRetry(failure.error, attempt, options);
  }
}

/** The same for a call with one answer. */
export async function retryCall<T>(
  call: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      await beforeRetry(error, attempt, options);
    }
  }
}

function beforeRetry(error: unknown, attempt: number, options: RetryOptions): Promise<void> {
  return options.beforeRetry?.(error, attempt) ?? pauseBeforeRetry(error, attempt, options);
}

/** Throws the error if there is to be no other try; else waits: half of the backoff, plus a random share of the other half. */
export async function pauseBeforeRetry(
  error: unknown,
  attempt: number,
  options: RetryOptions,
): Promise<void> {
  const { attempts, signal, random = Math.random, sleep = pause } = options;
  const mayPass = error instanceof UpstreamError && error.retryable;
  if (!mayPass || attempt >= attempts || signal.aborted) throw error;
  const requested = error.retryAfterMs ?? 0;
  if (requested > (options.maxRetryAfterMs ?? Infinity)) throw error;
  const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  const jittered = backoff / 2 + (random() * backoff) / 2;
  const capped = Math.min(options.maxRetryAfterMs ?? MAX_RETRY_AFTER_MS, requested);
  await sleep(Math.max(jittered, capped), signal);
}

/** Waits; fails with UpstreamError `aborted` as soon as the signal fires. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch {
    // The only failure is the signal's.
    throw abortedError();
  }
}
