import type { Exchange } from './exchange.js';

/** The requests that are not answered until they are released. */
export class Holds {
  private readonly waiting = new Set<() => void>();

  get count(): number {
    return this.waiting.size;
  }

  /** Resolves when `release` is called next, or the connection closes. */
  async hold(exchange: Exchange): Promise<void> {
    if (exchange.closed) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const go = (): void => {
      this.waiting.delete(go);
      resolve(undefined);
    };
    this.waiting.add(go);
    exchange.onClosed(go);
    await promise;
  }

  release(): void {
    for (const go of [...this.waiting]) go();
  }
}
