import { Logger } from '@nestjs/common';
import { VectorStoreError } from './vector-store.errors.js';

const logger = new Logger('VectorStore');

/** One call to a store, for the log. */
interface StoreCall {
  readonly store: string;
  readonly action: string;
  readonly signal: AbortSignal;
}

/**
 * Runs one call. An aborted signal rejects it at once with the signal's reason, although a running statement may still
 * finish; any other failure is logged and becomes a VectorStoreError.
 */
export async function storeCall<T>(call: StoreCall, work: () => Promise<T>): Promise<T> {
  const { store, action, signal } = call;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof VectorStoreError) || error.cause !== undefined) {
      logger.warn({ msg: 'Vector store call failed', store, action, err: error });
    }
    if (error instanceof VectorStoreError) throw error;
    throw new VectorStoreError(
      `The vector store ${store} failed to ${action}. Try again in a moment. If it fails again, ask an administrator to check the log.`,
      { cause: error },
    );
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
