import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';

/** How long statements may run before timers and sockets are served. */
const MAX_RUN_MS = 5;

/**
 * The embedded database as its driver sees it, with pauses. PGlite answers within microtasks, and so does the pool that
 * hands its one connection on: as long as statements wait, nothing else of the process would ever run.
 */
export function fairEmbedded(database: PGlite): PGlite {
  let turned = performance.now();
  const execute: PGlite['execProtocolStream'] = async (message, options) => {
    if (performance.now() - turned > MAX_RUN_MS) {
      await nextTurn();
      turned = performance.now();
    }
    // The driver's last message may come after the pause, when the store is closed.
    if (database.closed) return [];
    return database.execProtocolStream(message, options);
  };
  return new Proxy(database, {
    get: (target, property) => {
      if (property === 'execProtocolStream') return execute;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
