import { setTimeout as sleep } from 'node:timers/promises';
import { QdrantClient, QdrantClientResourceExhaustedError } from '@qdrant/js-client-rest';
import { z } from 'zod';
import { VectorStoreError } from '../vector-store.errors.js';

export interface QdrantAddress {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Of one request. */
  readonly timeoutMs: number;
}

type QdrantApi = ReturnType<QdrantClient['api']>;
type Send<T> = (api: QdrantApi, init: RequestInit) => Promise<{ readonly data: T }>;

const versionAnswer = z.object({ version: z.string().regex(/^\d+\.\d+/) });
const OLDEST = [1, 15] as const;
/** Waits before a request is sent again, each with up to half of it more. */
const PAUSES_MS = [200, 600, 1_800];

/** The requests to Qdrant: each with a time limit and an abort, sent again where that can help, errors in plain words. */
export class QdrantCalls {
  private readonly api: QdrantApi;
  private version: Promise<void> | undefined;

  constructor(private readonly address: QdrantAddress) {
    const { origin, pathname } = new URL(address.url);
    const client = new QdrantClient({
      url: origin,
      // Without it the client takes 6333 for an address that names no port.
      port: null,
      prefix: pathname.replace(/\/+$/, ''),
      // As `apiKey` the client prints a warning for a plain http address, which is usual next door.
      ...(address.apiKey !== undefined && { headers: { 'api-key': address.apiKey } }),
      // Its own limit would take the place of the caller's signal.
      timeout: Infinity,
      checkCompatibility: false,
    });
    this.api = client.api();
  }

  /** What the server answers; undefined where it knows no such collection. */
  async send<T>(signal: AbortSignal, send: Send<{ result?: T }>): Promise<T | undefined> {
    this.version ??= this.checkVersion().catch((error: unknown) => {
      this.version = undefined;
      throw error;
    });
    await this.version;
    try {
      return (await this.attempts(signal, send)).result;
    } catch (error) {
      signal.throwIfAborted();
      if (statusOf(error) === 404) return undefined;
      throw inPlainWords(error);
    }
  }

  /** Once in the life of the process, as soon as the server answers. Who asked first may leave: others wait for it. */
  private async checkVersion(): Promise<void> {
    const send: Send<unknown> = (api, init) => api.root({}, init);
    const answer = await this.attempts(new AbortController().signal, send).catch(
      (error: unknown) => {
        throw inPlainWords(error);
      },
    );
    const { data } = versionAnswer.safeParse(answer);
    if (!data) {
      throw new VectorStoreError(
        'The server behind QDRANT_URL is no Qdrant. Ask an administrator to check the address.',
      );
    }
    const [major = 0, minor = 0] = data.version.split('.').map(Number);
    if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
    throw new VectorStoreError(
      `The vector store is Qdrant ${data.version}, but ${OLDEST.join('.')} or newer is needed. Ask an administrator to update it.`,
    );
  }

  private async attempts<T>(signal: AbortSignal, send: Send<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const limit = AbortSignal.timeout(this.address.timeoutMs);
        const { data } = await send(this.api, { signal: AbortSignal.any([signal, limit]) });
        return data;
      } catch (error) {
        signal.throwIfAborted();
        const pause = PAUSES_MS[attempt];
        if (pause === undefined || !mayPass(error)) throw error;
        await sleep(pause * (1 + Math.random() / 2), undefined, { signal });
      }
    }
  }
}

function inPlainWords(error: unknown): VectorStoreError {
  const status = statusOf(error);
  return new VectorStoreError(explanationOf(status), { cause: error });
}

function explanationOf(status: number | undefined): string {
  if (status === 401 || status === 403) {
    return 'Qdrant refuses the key. Ask an administrator to check QDRANT_API_KEY.';
  }
  if (status !== undefined && status < 500 && status !== 429) {
    return `Qdrant refuses the request (HTTP ${status}). Ask an administrator to look at the log.`;
  }
  return 'Qdrant does not answer. Try again in a moment; if it lasts, ask an administrator to check QDRANT_URL and the server.';
}

/** The errors of the client and of fetch, which share no class. */
const failure = z.object({ name: z.string(), status: z.number().optional().catch(undefined) });

/** HTTP status of an answer that is an error; undefined where none came. */
function statusOf(error: unknown): number | undefined {
  return failure.safeParse(error).data?.status;
}

/** An overloaded or restarting server may answer a moment later; one that let the time pass has had its chance. */
function mayPass(error: unknown): boolean {
  if (error instanceof QdrantClientResourceExhaustedError) return true;
  const { name, status } = failure.safeParse(error).data ?? {};
  if (status !== undefined) return status >= 500 || status === 429;
  // So fetch calls a connection that fails or breaks off.
  return name === 'TypeError';
}
