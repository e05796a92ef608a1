import type { NestExpressApplication } from '@nestjs/platform-express';
import { acrossTenants } from '../../src/platform/database/index.js';

const seen = new WeakMap<object, object>();

/**
 * The application as a test sees it: what it gets out of it serves every tenant, because a test is nobody's request.
 * What the application calls itself, for a request, a job or a timer, stays behind the wall of tenants.
 */
export function askedByTest(app: NestExpressApplication): NestExpressApplication {
  return new Proxy(app, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        return property === 'get' && isInstance(result) ? byTest(result) : result;
      };
    },
  });
}

/** Settings and functions are values, not services. */
function isInstance(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
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
