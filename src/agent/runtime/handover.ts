/** A value that the reader has not dealt with yet. */
interface Waiting<T> {
  readonly value: T;
  readonly handed: PromiseWithResolvers<undefined>;
}

/**
 * Hands values from work to one reader, in order. The work waits until its value was dealt with: what follows a value
 * happens only then.
 */
export class Handover<T> {
  private readonly waiting: Waiting<T>[] = [];
  private ending: { readonly error?: unknown } | undefined;
  private isClosed = false;
  private wake: (() => void) | undefined;

  /** Resolves when the reader asks for the next value. Rejects when the reader has left. */
  put(value: T): Promise<void> {
    if (this.isClosed) return Promise.reject(new ReaderLeft());
    const handed = Promise.withResolvers<undefined>();
    this.waiting.push({ value, handed });
    this.wake?.();
    return handed.promise;
  }

  /** The reader ends after the values that are there, with the error if there is one. The first end counts. */
  end(ending: { readonly error?: unknown } = {}): void {
    this.ending ??= ending;
    this.wake?.();
  }

  async *read(): AsyncGenerator<T, void, void> {
    try {
      for (;;) {
        const next = this.waiting[0] ?? (await this.next());
        if (!next) return;
        yield next.value;
        this.waiting.shift();
        next.handed.resolve(undefined);
      }
    } finally {
      this.isClosed = true;
      for (const { handed } of this.waiting) handed.reject(new ReaderLeft());
    }
  }

  /** Waits for a value or the end; undefined at the end. */
  private async next(): Promise<Waiting<T> | undefined> {
    while (this.waiting.length === 0) {
      if (this.ending && 'error' in this.ending) throw this.ending.error;
      if (this.ending) return undefined;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.wake = () => resolve(undefined);
      await promise;
    }
    return this.waiting[0];
  }
}

class ReaderLeft extends Error {
  override readonly name = 'ReaderLeft';

  constructor() {
    super('The answer is not read any more.');
  }
}
