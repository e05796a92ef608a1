import type { NestExpressApplication } from '@nestjs/platform-express';
import { acrossTenants } from '../../src/platform/database/index.js';
import { PeriodicRound } from '../../src/platform/queue/index.js';

/** What a timer calls in the service, outside of a request and of any tenant: it binds its work itself, also when a test calls it. */
const TIMED: ReadonlySet<string | symbol> = new Set([
  ...['expireDue', 'flush', 'forceCancels', 'freeLeft', 'reconcile', 'retryDue', 'saveTexts'],
  'sweep',
]);

const seen = new WeakMap<object, object>();

/**
 * The application as a test sees it: what it gets out of it serves every tenant, because a test is nobody's request.
 * What the application calls itself, for a request, a job or a timer, stays bound to its tenant; so does what a test
 * calls in the place of a timer.
 */
export function askedByTest(app: NestExpressApplication): NestExpressApplication {
  return new Proxy(app, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        return property === 'get' && isService(result) ? byTest(result) : result;
      };
    },
  });
}

/** Settings and functions are values, not services. All of an hourly round is called by its timer. */
function isService(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof PeriodicRound) return false;
  return Object.getPrototypeOf(value) !== Object.prototype;
}

/** The same for a service that another one answers, such as a vector store. */
export function byTest<T extends object>(service: T): T {
  const known = seen.get(service);
  if (known) return known as T;
  const methods = new WeakMap<object, unknown>();
  const proxy = new Proxy(service, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      // A mock stays what it is, so that a test can ask it what it has seen.
      if (typeof value !== 'function' || 'mock' in value) return value;
      if (TIMED.has(property)) return value.bind(target) as unknown;
      const bound =
        methods.get(value) ??
        ((...given: unknown[]): unknown =>
          acrossTenants('a test', () => Reflect.apply(value, target, given) as unknown));
      methods.set(value, bound);
      return bound;
    },
  });
  seen.set(service, proxy);
  return proxy;
}
