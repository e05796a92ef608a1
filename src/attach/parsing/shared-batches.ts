import { UpstreamError } from '../../provider/index.js';
import type { WaitListener } from '../../model/index.js';

/** How the batches of one model are made and sent. */
export interface SharedBatchSettings {
  /** Texts in one call at most. */
  readonly size: number;
  /** Calls at the same time. */
  readonly concurrency: number;
  /** How long a document waits for others that are being prepared, while a call could be made. */
  readonly lingerMs: number;
  /** One call: a vector for each text, in their order. */
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

  /** Whether no announced document is left. */
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

  /** One vector a text. Rejects with the signal's reason as soon as it aborts. */
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
    for (const { texts: own, alone } of this.waiting) {
      if (count > 0 && (alone || texts + own.length > this.settings.size)) break;
      texts += own.length;
      count += 1;
      if (alone) break;
    }
    return this.waiting.splice(0, count);
  }

  private async run(batch: readonly Waiting[]): Promise<void> {
    this.running += 1;
    const abandoned = new AbortController();
    let left = batch.length;
    const onAbort = () => {
      left -= 1;
      if (left === 0) abandoned.abort();
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
