import { Injectable } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { inTenant } from '../database/index.js';
import { AroundInterceptor } from '../http/index.js';
import type { AuthenticatedRequest } from './access.decorators.js';

/**
 * Binds the request to the tenant of its caller, for pipes, handler, and everything that they start, streams included.
 * A public route without a caller stays unbound: it reaches rows of a tenant only by binding itself to one.
 */
@Injectable()
export class TenantInterceptor extends AroundInterceptor {
  override around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T> {
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    return caller ? inTenant(caller.tenantId, work) : work();
  }
}
