import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { QdrantClient, QdrantClientResourceExhaustedError } from '@qdrant/js-client-rest';
import { z } from 'zod';
import type { Dependency } from '../../platform/dependency/index.js';
import { UnavailableError } from '../../platform/error/index.js';
import { msg, phrase } from '../../platform/message/index.js';
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

const versionAnswer = z.object({ version: z.string().regex(/^\d+\.\d+/) });
const OLDEST = [1, 15] as const;
/** Pauses before a request is retried, each with up to 50 % jitter. */
const PAUSES_MS = [200, 600, 1_800];

/** How often a server that is up is probed, so that an outage shows before a request meets it. */
const PROBE_EVERY_MS = 5_000;
const PROBE_LIMIT_MS = 2_000;

/**
 * The requests to Qdrant: each with a time limit and an abort signal, retried where useful, with readable errors. While the
 * server is away they fail at once with UnavailableError.
 */
export class QdrantCalls {
  private readonly api: QdrantApi;
  private version: Promise<void> | undefined;

  constructor(
    private readonly address: QdrantAddress,
    private readonly dependency: Dependency,
  ) {
    const { origin, pathname } = new URL(address.url);
    const client = new QdrantClient({
      url: origin,
      // Without it the client uses 6333 for an address without a port.
      port: null,
      prefix: pathname.replace(/\/+$/, ''),
      // As `apiKey` the client prints a warning for an http address, which is usual in a private network.
      ...(address.apiKey !== undefined && { headers: { 'api-key': address.apiKey } }),
      // The client's own limit would replace the caller's signal.
      timeout: Infinity,
      checkCompatibility: false,
    });
    this.api = client.api();
    dependency.probeWith(() => this.probe(), { everyMs: PROBE_EVERY_MS });
  }

  /** The answer of the server; undefined when there is no such collection. */
  async send<T>(signal: AbortSignal, send: Send<{ result?: T }>): Promise<T | undefined> {
    this.version ??= this.checkVersion().catch((error: unknown) => {
      this.version = undefined;
      throw error;
    });
    await this.version;
    try {
      return (await this.attempts(signal, send)).result;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Once per process, as soon as the server answers. Not aborted by the first caller's signal, because others wait. */
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
      if (!this.dependency.isUp) throw new UnavailableError(phrase`The vector store`);
      const beganAt = performance.now();
      try {
        const limit = AbortSignal.timeout(this.address.timeoutMs);
        const { data } = await send(this.api, { signal: AbortSignal.any([signal, limit]) });
        this.dependency.succeeded(beganAt);
        return data;
      } catch (error) {
        signal.throwIfAborted();
        const pause = PAUSES_MS[attempt];
        if (pause === undefined || !isRetryable(error)) throw this.known(error, beganAt);
        await sleep(pause * (1 + Math.random() / 2), undefined, { signal });
      }
    }
  }

  /** The error for callers; one that says that the server is away takes the dependency down. */
  private known(error: unknown, beganAt: number): unknown {
    const status = statusOf(error);
    if (status === 404) return error;
    if (!isAway(status)) return refusal(status, error);
    this.dependency.failed(error, beganAt);
    return new UnavailableError(phrase`The vector store`, error);
  }

  private async probe(): Promise<void> {
    const signal = AbortSignal.timeout(PROBE_LIMIT_MS);
    try {
      await this.api.readyz({}, { signal });
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      throw new Error(`Qdrant answered HTTP ${status}.`, { cause: error });
    }
  }
}

/** Whether there was no answer, or one that says that the server, or a proxy before it, cannot serve requests now. */
function isAway(status: number | undefined): boolean {
  return status === undefined || status === 429 || (status >= 502 && status <= 504);
}

function refusal(status: number | undefined, cause: unknown): VectorStoreError {
  return new VectorStoreError(explanationOf(status), { cause });
}

function explanationOf(status: number | undefined): Message {
  if (status === 401 || status === 403) {
    return msg`Qdrant refuses the key. Ask an administrator to check QDRANT_API_KEY.`;
  }
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
  if (status !== undefined) return status >= 500 || status === 429;
  // What fetch throws when a connection fails or is interrupted.
  return name === 'TypeError';
}
