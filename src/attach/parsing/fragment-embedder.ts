import PQueue from 'p-queue';
import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { EmbeddingClient, EmbeddingModelChangedError, inBatches } from '../../model/index.js';
import type { ModelUse, ResolvedEmbeddingModel, WaitListener } from '../../model/index.js';
import type { ModelUser } from '../../usage/index.js';
import { SettingsChangedError } from './parsing.errors.js';
import { ParsingRepository } from './parsing.repository.js';
import type { Claim } from './parsing.repository.js';
import { UpstreamError } from '../../provider/index.js';

interface EmbeddedTexts {
  /** Owner of the document. */
  readonly caller: ModelUser;
  readonly model: ResolvedEmbeddingModel;
  readonly texts: readonly string[];
}

/** Ends the embedding of one document, and receives its progress. */
interface EmbeddingWatch {
  readonly signal: AbortSignal;
  /** Called with the number of embedded texts. */
  readonly onProgress: (done: number) => void;
  /** The reason for waiting; undefined when it continues. */
  readonly onWait: (reason: Message | undefined) => void;
}

interface Batch {
  readonly texts: readonly string[];
  readonly digest: string;
}

/** Time that a small document waits for others of its model that are being prepared. */
const LINGER_MS = 500;

const FLOAT_BYTES = 4;

/**
 * Embeds the fragments of documents. A document of several batches is sent batch by batch, and each is kept until the
 * document is parsed. Those that fit into one share calls with others of the model (SharedBatches).
 */
@Injectable()
export class FragmentEmbedder {
  private readonly logger = new Logger('Parsing');
  /** Shared batches by user and vector-determining settings: a call is recorded for one user. */
  private readonly shared = new Map<string, SharedBatches>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly embedder: EmbeddingClient,
    private readonly repository: ParsingRepository,
  ) {}

  /** Announces a document that is being prepared for `embed`. Call the answer once when its ingestion has ended. */
  announce(caller: ModelUser, model: ResolvedEmbeddingModel): () => void {
    const key = keyOf(caller, model);
    const batches = this.sharedBy(key, caller, model);
    const leave = batches.announce();
    return () => {
      leave();
      if (batches.isIdle && this.shared.get(key) === batches) this.shared.delete(key);
    };
  }

  /**
   * One vector for each text, in order. A batch that an earlier attempt embedded is not sent again. After the first
   * permanent failure no further batch starts.
   */
  async embed(claim: Claim, what: EmbeddedTexts, how: EmbeddingWatch): Promise<Float32Array[]> {
    try {
      const size = this.embedder.batchSizeOf(what.model);
      const isSmall = what.texts.length < size;
      return await (isSmall
        ? this.embedShared(claim, what, how)
        : this.embedAlone(claim, what, how));
    } catch (error) {
      throw error instanceof EmbeddingModelChangedError ? new SettingsChangedError() : error;
    }
  }

  private async embedShared(
    { id }: Claim,
    { caller, model, texts }: EmbeddedTexts,
    { signal, onWait, onProgress }: EmbeddingWatch,
  ): Promise<Float32Array[]> {
    const document = { id, texts, signal, onWait };
    const vectors = await this.sharedBy(keyOf(caller, model), caller, model).embed(document);
    onProgress(texts.length);
    return [...vectors];
  }

  private sharedBy(key: string, caller: ModelUser, model: ResolvedEmbeddingModel): SharedBatches {
    const existingBatches = this.shared.get(key);
    if (existingBatches) return existingBatches;
    const batches = new SharedBatches({
      size: this.embedder.batchSizeOf(model),
      concurrency: this.config.EMBEDDING_CONCURRENCY,
      lingerMs: LINGER_MS,
      embed: (texts, how) =>
        this.embedder.embed(model, texts, { ...how, use: useOf(caller), purpose: 'document' }),
      onFailure: (error, { documents, alone }) => {
        const msg = 'Failed to embed a shared batch';
        this.logger.warn({ msg, attachmentIds: documents, alone, err: error });
      },
    });
    this.shared.set(key, batches);
    return batches;
  }

  private async embedAlone(
    claim: Claim,
    { caller, model, texts }: EmbeddedTexts,
    how: EmbeddingWatch,
  ): Promise<Float32Array[]> {
    const batches = batchesOf(model, texts, this.embedder.batchSizeOf(model));
    const storedBatches = await this.repository.embeddedBatches(claim.tenantId, claim.id);
    const failure = new AbortController();
    const signal = AbortSignal.any([how.signal, failure.signal]);
    let done = 0;
    const queue = new PQueue({ concurrency: this.config.EMBEDDING_CONCURRENCY });
    const embedOne = async ({ texts: inputs, digest }: Batch): Promise<Float32Array[]> => {
      signal.throwIfAborted();
      const earlier = storedBatches.get(digest);
      const vectors = earlier
        ? unpacked(earlier, inputs.length)
        : await this.embedder.embed(model, inputs, {
            use: useOf(caller),
            signal,
            purpose: 'document',
            onWait: how.onWait,
          });
      // A document of one batch has nothing to resume.
      if (!earlier && batches.length > 1) {
        await this.repository.keepBatch(claim, { digest, vectors: packed(vectors) });
      }
      done += inputs.length;
      how.onProgress(done);
      return vectors;
    };
    try {
      return (await Promise.all(batches.map((batch) => queue.add(() => embedOne(batch))))).flat();
    } catch (error) {
      queue.clear();
      failure.abort(error);
      await queue.onIdle();
      throw error;
    }
  }
}

function batchesOf(model: ResolvedEmbeddingModel, texts: readonly string[], size: number): Batch[] {
  return inBatches(texts, size).map((batch) => ({ texts: batch, digest: digestOf(model, batch) }));
}

/** Equal only for the same texts embedded by the same model at the same address. */
function digestOf(model: ResolvedEmbeddingModel, texts: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([factsOf(model), texts]))
    .digest('hex');
}

/** Properties that determine the vectors of the model. */
function factsOf(model: ResolvedEmbeddingModel): readonly (string | number)[] {
  const { id, modelName, providerCode, modelDimension, connection } = model;
  return [id, modelName, providerCode, modelDimension ?? '', connection.address];
}

function keyOf({ userId }: ModelUser, model: ResolvedEmbeddingModel): string {
  return JSON.stringify([userId, factsOf(model)]);
}

function useOf(caller: ModelUser): ModelUse {
  return { caller, feature: 'ingestion' };
}

function packed(vectors: readonly Float32Array[]): Buffer {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );
}

function unpacked(bytes: Buffer, count: number): Float32Array[] {
  // A copy, because a view of floats must begin at a multiple of four.
  const floats = new Float32Array(new Uint8Array(bytes).buffer);
  const dimension = bytes.length / FLOAT_BYTES / count;
  return Array.from({ length: count }, (_, index) =>
    floats.slice(index * dimension, (index + 1) * dimension),
  );
}

/** Settings for building and sending the batches of one model. */
export interface SharedBatchSettings {
  /** Texts in one call at most. */
  readonly size: number;
  /** Calls at the same time. */
  readonly concurrency: number;
  /** Time that a document waits for others in preparation although a call could be made. */
  readonly lingerMs: number;
  /** Embeds the texts in one call and returns a vector for each, in order. */
  readonly embed: (
    texts: readonly string[],
    how: { readonly signal: AbortSignal; readonly onWait: WaitListener },
  ) => Promise<readonly Float32Array[]>;
  /** A call for several documents failed; `alone` when each is sent by itself now. */
  readonly onFailure: (
    error: unknown,
    batch: { readonly documents: readonly number[]; readonly alone: boolean },
  ) => void;
}

/** A document whose texts fit into one call. */
export interface SmallDocument {
  readonly id: number;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly onWait: WaitListener;
}

interface Waiting extends SmallDocument {
  readonly answer: PromiseWithResolvers<readonly Float32Array[]>;
  /** A shared call with it has failed, perhaps because of another document. */
  readonly alone: boolean;
}

/**
 * The small documents of one model that are ingested at the same time share embedding calls. A document waits as long as
 * no call is free; while one is free, it waits only for documents that are being prepared, and not longer than lingerMs.
 * The documents of a batch have nothing else in common: one that is cancelled leaves the others, and after a failure that
 * one of them may have caused each is sent alone.
 */
export class SharedBatches {
  private members = 0;
  private running = 0;
  private waiting: Waiting[] = [];
  private lingering: NodeJS.Timeout | undefined;
  private lingered = false;

  constructor(private readonly settings: SharedBatchSettings) {}

  /** Whether no announced document remains. */
  get isIdle(): boolean {
    return this.members === 0;
  }

  /** Announces a document that may come; others wait for it. Call the answer once when its ingestion has ended. */
  announce(): () => void {
    this.members += 1;
    return () => {
      this.members -= 1;
      this.send();
    };
  }

  /** Returns one vector for each text. Rejects with the reason of the signal as soon as it aborts. */
  async embed(document: SmallDocument): Promise<readonly Float32Array[]> {
    const { signal } = document;
    signal.throwIfAborted();
    const answer = Promise.withResolvers<readonly Float32Array[]>();
    const onAbort = () => {
      this.waiting = this.waiting.filter((one) => one.answer !== answer);
      answer.reject(signal.reason);
      this.send();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.waiting.push({ ...document, answer, alone: false });
      this.send();
      return await answer.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Starts every call that is due. */
  private send(): void {
    while (this.running < this.settings.concurrency && this.waiting.length > 0) {
      if (!this.isDue()) {
        this.lingering ??= setTimeout(() => this.endLingering(), this.settings.lingerMs);
        return;
      }
      void this.run(this.take());
    }
    if (this.waiting.length === 0) this.forgetLingering();
  }

  private isDue(): boolean {
    const { waiting, members, lingered } = this;
    if (lingered || waiting.length >= members || waiting[0]?.alone) return true;
    return textsOf(waiting) >= this.settings.size;
  }

  /** The first of those that wait, as many as fit into a call. */
  private take(): readonly Waiting[] {
    let count = 0;
    let texts = 0;
    for (const { texts: documentTexts, alone } of this.waiting) {
      if (count > 0 && (alone || texts + documentTexts.length > this.settings.size)) break;
      texts += documentTexts.length;
      count += 1;
      if (alone) break;
    }
    return this.waiting.splice(0, count);
  }

  private async run(batch: readonly Waiting[]): Promise<void> {
    this.running += 1;
    const abandoned = new AbortController();
    let remainingCount = batch.length;
    const onAbort = () => {
      remainingCount -= 1;
      if (remainingCount === 0) abandoned.abort();
    };
    for (const { signal } of batch) signal.addEventListener('abort', onAbort, { once: true });
    try {
      const vectors = await this.settings.embed(
        batch.flatMap(({ texts }) => texts),
        {
          signal: abandoned.signal,
          onWait: (reason) => {
            for (const { onWait } of batch) onWait(reason);
          },
        },
      );
      let from = 0;
      for (const { texts, answer } of batch) {
        answer.resolve(vectors.slice(from, from + texts.length));
        from += texts.length;
      }
    } catch (error) {
      this.fail(batch, error);
    } finally {
      for (const { signal } of batch) signal.removeEventListener('abort', onAbort);
      this.running -= 1;
      this.send();
    }
  }

  private fail(batch: readonly Waiting[], error: unknown): void {
    const present = batch.filter(({ signal }) => !signal.aborted);
    const alone = batch.length > 1 && mayBeCausedByText(error);
    if (batch.length > 1 && present.length > 0) {
      this.settings.onFailure(error, { documents: present.map(({ id }) => id), alone });
    }
    if (alone) this.waiting.unshift(...present.map((one) => ({ ...one, alone })));
    else for (const { answer } of present) answer.reject(error);
  }

  private endLingering(): void {
    this.lingering = undefined;
    this.lingered = true;
    this.send();
  }

  private forgetLingering(): void {
    clearTimeout(this.lingering);
    this.lingering = undefined;
    this.lingered = false;
  }
}

function textsOf(documents: readonly SmallDocument[]): number {
  return documents.reduce((sum, { texts }) => sum + texts.length, 0);
}

function mayBeCausedByText(error: unknown): boolean {
  return error instanceof UpstreamError && !error.retryable && error.mayBeCausedByInput;
}
