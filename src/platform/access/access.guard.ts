import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ForbiddenError, UnauthenticatedError } from '../error/index.js';
import { ACCESS_RULE } from './access.decorators.js';
import type { AccessRule, AuthenticatedRequest } from './access.decorators.js';
import { mayAny } from './caller.js';
import { CallerResolver } from './caller.resolver.js';

/** Reads the token and puts the caller on the request; refuses routes that declare no access rule. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly callers: CallerResolver,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = accessRule(this.reflector, context);
    if (!rule) throw new ForbiddenError();
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const { token, clientId } = credentials(request, rule.kind !== 'public' && rule.tokenInQuery);
    if (rule.kind === 'public') {
      if (token && clientId)
        request.caller = await this.callers.resolve(token, clientId).catch(() => undefined);
      return true;
    }
    if (!token || !clientId) throw new UnauthenticatedError();
    request.caller = await this.callers.resolve(token, clientId);
    return true;
  }
}

/** Decides by the permissions of the caller, which the authentication guard has resolved. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const rule = accessRule(this.reflector, context);
    if (!rule) throw new ForbiddenError();
    if (rule.kind !== 'permission') return true;
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (!caller) throw new UnauthenticatedError();
    if (!mayAny(caller, rule.anyOf)) {
      throw new ForbiddenError(
        `You need the permission ${rule.anyOf.join(' or ')}. Ask an administrator for it.`,
      );
    }
    if (rule.also !== undefined && !mayAny(caller, [rule.also])) {
      throw new ForbiddenError(
        `You need the permission ${rule.also}, too. Ask an administrator for it.`,
      );
    }
    return true;
  }
}

function accessRule(reflector: Reflector, context: ExecutionContext): AccessRule | undefined {
  return reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
    context.getHandler(),
    context.getClass(),
  ]);
}

function credentials(
  request: AuthenticatedRequest,
  inQuery: boolean,
): { token: string | undefined; clientId: string | undefined } {
  const query = inQuery ? request.query : {};
  const authorization = request.headers.authorization ?? text(query['Authorization']);
  const clientId = text(request.headers['clientid']) ?? text(query['clientid']);
  const token = authorization?.replace(/^Bearer\s+/i, '').trim();
  return { token: token === 'undefined' ? undefined : token, clientId };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
