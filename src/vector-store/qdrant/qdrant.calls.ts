import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { QdrantClient, QdrantClientResourceExhaustedError } from '@qdrant/js-client-rest';
import { z } from 'zod';
import { DependencyFault } from '../../platform/dependency/index.js';
import type { Dependency } from '../../platform/dependency/index.js';
import { UnavailableError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { VectorStoreError } from '../vector-store.js';

export interface QdrantAddress {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** The time limit of one request. */
  readonly timeoutMs: number;
}

type QdrantApi = ReturnType<QdrantClient['api']>;
type Send<T> = (api: QdrantApi, init: RequestInit) => Promise<{ readonly data: T }>;

/** Sends one request; undefined when there is no such collection or point. */
export type Sender = <T>(send: Send<{ result?: T }>) => Promise<T | undefined>;

/** Checks of a responding server at the first call of a process and at every probe. */
export interface Verification {
  verify(send: Sender): Promise<void>;
  /** A small change, by which a server that refused one shows that it takes them again. */
  write(send: Sender): Promise<void>;
}

/** A refusal with a known cause; a partial one still lets vectors be read. */
class QdrantFault extends DependencyFault {
  constructor(
    reason: Message,
    cause: unknown,
    readonly isPartial: boolean,
  ) {
    super(reason, cause);
  }
}

const versionAnswer = z.object({ version: z.string().regex(/^\d+\.\d+/) });
const OLDEST = [1, 15] as const;
/** Pauses before a request is retried, each with up to 50 % jitter. */
const PAUSES_MS = [200, 600, 1_800];

/** Interval of the probes of a running server, so that an outage is known before a request meets it. */
const PROBE_EVERY_MS = 5_000;
const PROBE_LIMIT_MS = 2_000;
/** A process that is starting is too busy to read an answer at once. */
const FIRST_PROBE_LIMIT_MS = 15_000;

/**
 * The requests to Qdrant: each with a time limit and an abort signal, retried where useful, with readable errors. While the
 * server is away they fail at once with UnavailableError.
 */
export class QdrantCalls {
  private readonly api: QdrantApi;
  private readiness: Promise<void> | undefined;
  private isProbed = false;
  private verification: Verification | undefined;
  /** Aborts when the server turns out to be away, so that calls in flight do not wait for their own limits. */
  private outage = new AbortController();

  constructor(
    private readonly address: QdrantAddress,
    private readonly dependency: Dependency,
  ) {
    const { origin, pathname } = new URL(address.url);
    const client = new QdrantClient({
      url: origin,
      // An explicit null: otherwise the client uses 6333 for an address without a port.
      port: null,
      prefix: pathname.replace(/\/+$/, ''),
      headers: {
        // No gzip: Qdrant sends a compressed answer in two writes, of which the second waits 40 ms for a delayed ACK.
        'accept-encoding': 'identity',
        // Sent as a header: with `apiKey` the client prints a warning for an http address, which is usual in a private
        // network.
        ...(address.apiKey !== undefined && { 'api-key': address.apiKey }),
      },
      // The client's own limit would replace the caller's signal.
      timeout: Infinity,
      checkCompatibility: false,
    });
    this.api = client.api();
    dependency.onChange((isUp) => {
      if (isUp) this.outage = new AbortController();
      else this.outage.abort(new UnavailableError(msg`The vector store`));
    });
    dependency.probeWith(() => this.probe(), { everyMs: PROBE_EVERY_MS });
  }

  verifyWith(verification: Verification): void {
    this.verification = verification;
    // A wrong key or foreign collections show at the start.
    void this.dependency.check();
  }

  /** The answer of the server; undefined when there is no such collection. */
  async send<T>(signal: AbortSignal, send: Send<{ result?: T }>): Promise<T | undefined> {
    this.readiness ??= this.prepare().catch((error: unknown) => {
      this.readiness = undefined;
      throw error;
    });
    await this.readiness;
    return this.sender(signal)(send);
  }

  /** Like `send`, but also works before the server is verified. */
  sender(signal: AbortSignal): Sender {
    return (send) => unlessMissing(this.attempts(signal, send));
  }

  /** The work; a fault that it finds takes the dependency down. */
  async guarded<T>(work: () => Promise<T>): Promise<T> {
    const beganAt = performance.now();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DependencyFault)) throw error;
      this.dependency.failed(error, beganAt);
      throw new UnavailableError(msg`The vector store`, error, error.reason);
    }
  }

  /** Once per process, as soon as the server answers. Not aborted by the first caller's signal, because others wait. */
  private async prepare(): Promise<void> {
    await this.checkVersion();
    const send = this.sender(new AbortController().signal);
    await this.guarded(async () => this.verification?.verify(send));
  }

  private async checkVersion(): Promise<void> {
    const send: Send<unknown> = (api, init) => api.root({}, init);
    const answer = await this.attempts(new AbortController().signal, send).catch(
      (error: unknown) => {
        throw statusOf(error) === 404 ? refusal(404, error) : error;
      },
    );
    const { data } = versionAnswer.safeParse(answer);
    if (!data) {
      throw new VectorStoreError(
        msg`The server at QDRANT_URL is not Qdrant. Ask an administrator to check the address.`,
      );
    }
    const [major = 0, minor = 0] = data.version.split('.').map(Number);
    if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
    throw new VectorStoreError(
      msg`The vector store is Qdrant ${data.version}, but ${OLDEST.join('.')} or newer is required. Ask an administrator to update it.`,
    );
  }

  /** Rejects with the reason of the signal, UnavailableError, the server's 404, or VectorStoreError. */
  private async attempts<T>(signal: AbortSignal, send: Send<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      this.assertUp();
      const beganAt = performance.now();
      const ending = AbortSignal.any([signal, this.outage.signal]);
      try {
        const limit = AbortSignal.timeout(this.address.timeoutMs);
        const { data } = await send(this.api, { signal: AbortSignal.any([ending, limit]) });
        this.dependency.succeeded(beganAt);
        return data;
      } catch (error) {
        signal.throwIfAborted();
        this.assertUp();
        const pause = PAUSES_MS[attempt];
        if (pause === undefined || !isRetryable(error)) throw this.errorForCaller(error, beganAt);
        await sleep(pause * (1 + Math.random() / 2), undefined, { signal: ending }).catch(() => {
          signal.throwIfAborted();
        });
      }
    }
  }

  private assertUp(): void {
    const { isUp, reason } = this.dependency;
    if (!isUp) throw new UnavailableError(msg`The vector store`, undefined, reason);
  }

  /** The error for callers; one that says that the server is away takes the dependency down. */
  private errorForCaller(error: unknown, beganAt: number): unknown {
    const status = statusOf(error);
    if (status === 404) return error;
    const fault = faultOf(status, error);
    if (fault?.isPartial) {
      this.dependency.limit(fault);
      return new UnavailableError(msg`The vector store`, error, fault.reason);
    }
    if (!fault && !isAway(status)) return refusal(status, error);
    this.dependency.failed(fault ?? error, beganAt);
    return new UnavailableError(msg`The vector store`, error, fault?.reason);
  }

  private async probe(): Promise<void> {
    const signal = AbortSignal.timeout(this.isProbed ? PROBE_LIMIT_MS : FIRST_PROBE_LIMIT_MS);
    this.isProbed = true;
    const send = async <T>(request: Send<T>): Promise<T> => {
      try {
        return (await request(this.api, { signal })).data;
      } catch (error) {
        const status = statusOf(error);
        if (status === undefined || status === 404) throw error;
        throw (
          faultOf(status, error) ?? new Error(`Qdrant answered HTTP ${status}.`, { cause: error })
        );
      }
    };
    const sender: Sender = (request) => unlessMissing(send(request));
    await send((api, init) => api.readyz({}, init));
    await this.verification?.verify(sender);
    if (this.dependency.isLimited) await this.probeWrite(sender);
  }

  private async probeWrite(send: Sender): Promise<void> {
    try {
      await this.verification?.write(send);
      this.dependency.unlimit();
    } catch (error) {
      if (!(error instanceof QdrantFault) || !error.isPartial) throw error;
    }
  }
}

async function unlessMissing<T>(answer: Promise<{ result?: T }>): Promise<T | undefined> {
  try {
    return (await answer).result;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/**
 * The faults that only an administrator can end. A server that is full answers changes with HTTP 500 and this text and
 * still serves searches (qdrant/qdrant#4165); a key for reading is answered 403 on changes.
 */
function faultOf(status: number | undefined, error: unknown): QdrantFault | undefined {
  if (status === 401 || status === 403) {
    const reason = msg`Qdrant refuses the key. Ask an administrator to check QDRANT_API_KEY.`;
    return new QdrantFault(reason, error, status === 403);
  }
  const isFull = status !== undefined && status >= 500 && FULL.test(textOf(error));
  if (!isFull) return undefined;
  const reason = msg`The disk of Qdrant is full, so that no vectors can be stored. Ask an administrator to free space.`;
  return new QdrantFault(reason, error, true);
}

const FULL = /no space left on device|(?:disk|storage) (?:is )?full|out of disk/i;

const answerOfError = z.object({ data: z.unknown().optional(), message: z.string().optional() });

function textOf(error: unknown): string {
  const { data, message } = answerOfError.safeParse(error).data ?? {};
  return `${message ?? ''} ${JSON.stringify(data ?? null)}`;
}

/** Whether no response arrived, or one by which the server or its proxy cannot serve requests now. */
function isAway(status: number | undefined): boolean {
  return status === undefined || status === 429 || (status >= 502 && status <= 504);
}

function refusal(status: number | undefined, cause: unknown): VectorStoreError {
  return new VectorStoreError(explanationOf(status), { cause });
}

function explanationOf(status: number | undefined): Message {
  if (status !== undefined && status < 500) {
    return msg`Qdrant refuses the request (HTTP ${status}). Ask an administrator to check the log.`;
  }
  return msg`Qdrant failed to answer the request. Try again in a moment. If it fails again, ask an administrator to check the log.`;
}

/** The errors of the client and of fetch, which have no common class. */
const failure = z.object({ name: z.string(), status: z.number().optional().catch(undefined) });

/** HTTP status of an error answer; undefined without an answer. */
function statusOf(error: unknown): number | undefined {
  return failure.safeParse(error).data?.status;
}

/** An overloaded or restarting server may answer a moment later; a time-out is not retried. */
function isRetryable(error: unknown): boolean {
  if (error instanceof QdrantClientResourceExhaustedError) return true;
  const { name, status } = failure.safeParse(error).data ?? {};
  if (status !== undefined) {
    return (status >= 500 || status === 429) && !faultOf(status, error);
  }
  // Error that fetch throws when a connection fails or is interrupted.
  return name === 'TypeError';
}
