import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';

/**
 * An interceptor that works around a handler and leaves its result alone. A direct route runs `around` without the
 * observables of the router.
 */
export abstract class AroundInterceptor implements NestInterceptor {
  /** Calls `work` once, or throws without it. */
  abstract around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T>;

  intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    return this.around(context, () => Promise.resolve(next.handle()));
  }
}
