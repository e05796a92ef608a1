import { Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { inTenant } from '../database/index.js';
import type { AuthenticatedRequest } from './access.decorators.js';

/**
 * Binds the request to the tenant of its caller, for pipes, handler, and everything that they start, streams included.
 * A public route without a caller stays unbound: it reaches rows of a tenant only by binding itself to one.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    return caller ? inTenant(caller.tenantId, () => next.handle()) : next.handle();
  }
}
