import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import passport from 'passport';
import { anyOf, msg } from '../message/index.js';
import { ForbiddenError, UnauthenticatedError } from '../error/index.js';
import { ACCESS_RULE, ANY_KEY } from './access.decorators.js';
import type { AccessRule, AuthenticatedRequest, Credentials } from './access.decorators.js';
import { ApiKeyCallers } from './api-key.callers.js';
import { API_KEY_PREFIX } from './api-key.token.js';
import { mayAny } from './caller.js';
import type { Caller } from './caller.js';
import { apiSurfaceOf } from './api-surface.js';
import { JwtStrategy } from './jwt.strategy.js';

/** Reads the token or API key and puts the caller on the request; refuses routes that declare no access rule. */
@Injectable()
export class AuthenticationGuard extends AuthGuard('jwt') {
  constructor(
    private readonly reflector: Reflector,
    private readonly strategy: JwtStrategy,
    private readonly keys: ApiKeyCallers,
  ) {
    super({ property: 'caller' });
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = accessRule(this.reflector, context);
    if (!rule) throw new ForbiddenError();
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const key = readKey(request);
    if (key !== undefined) return this.byKey(request, key, rule);
    request.credentials = readCredentials(request, rule.kind !== 'public' && rule.tokenInQuery);
    const authenticated = super.canActivate(context) as Promise<boolean>;
    return rule.kind === 'public' ? authenticated.catch(() => true) : authenticated;
  }

  /** A key opens no sign-in: a public route, such as that of signing out, is called without a caller. */
  private async byKey(
    request: AuthenticatedRequest,
    key: string,
    { kind }: AccessRule,
  ): Promise<boolean> {
    if (kind === 'public') return true;
    const origin = { apiSurface: apiSurfaceOf(request), address: request.ip };
    request.caller = await this.keys.resolve(key, origin);
    return true;
  }

  /**
   * Passport keeps the strategies of a process in one registry by name. It looks the name up right after this call, so
   * that several applications in one process, as in the tests, each use their own.
   */
  override getRequest(context: ExecutionContext): AuthenticatedRequest {
    passport.use(this.strategy);
    return context.switchToHttp().getRequest<AuthenticatedRequest>();
  }

  override handleRequest<User>(error: Error | null, caller: User | false | undefined): User {
    if (caller) return caller;
    throw error ?? new UnauthenticatedError();
  }
}

/** Decides by the permissions of the caller, which the authentication guard has resolved. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const rule = accessRule(this.reflector, context);
    if (!rule) throw new ForbiddenError();
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (rule.kind === 'login' && caller?.apiKey) requireForKey(caller, rule.apiKey);
    if (rule.kind !== 'permission') return true;
    if (!caller) throw new UnauthenticatedError();
    if (!mayAny(caller, rule.anyOf)) {
      throw new ForbiddenError(
        msg`You need the permission ${anyOf(rule.anyOf)}. Ask an administrator for it.`,
      );
    }
    if (rule.also !== undefined && !mayAny(caller, [rule.also])) {
      throw new ForbiddenError(
        msg`You also need the permission ${rule.also}. Ask an administrator for it.`,
      );
    }
    return true;
  }
}

/** ForbiddenError unless the key of the caller may call a route that every signed-in user may. */
function requireForKey(caller: Caller, needed: string | undefined): void {
  if (needed === ANY_KEY) return;
  if (needed === undefined) {
    throw new ForbiddenError(msg`API keys cannot be used for this. Sign in instead.`);
  }
  if (mayAny(caller, [needed])) return;
  throw new ForbiddenError(
    msg`This API key lacks the permission ${needed}. Add it to the key, or use another key.`,
  );
}

function accessRule(reflector: Reflector, context: ExecutionContext): AccessRule | undefined {
  return reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
    context.getHandler(),
    context.getClass(),
  ]);
}

function readCredentials(request: AuthenticatedRequest, inQuery: boolean): Credentials | undefined {
  const query = inQuery ? request.query : {};
  const authorization = request.headers.authorization ?? text(query['Authorization']);
  const clientId = text(request.headers['clientid']) ?? text(query['clientid']);
  const token = authorization?.replace(/^Bearer\s+/i, '').trim();
  return token && clientId ? { token, clientId } : undefined;
}

/** Where clients of OpenAI, Anthropic, Azure and Google send a key. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** The API key of the first of the headers. One in the query would be in the logs of every proxy. */
function readKey({ headers }: AuthenticatedRequest): string | undefined {
  const name = KEY_HEADERS.find((one) => headers[one] !== undefined);
  const sent = name && headers[name];
  if (typeof sent !== 'string') return undefined;
  const key = name === 'authorization' ? sent.replace(/^Bearer\s+/i, '').trim() : sent;
  return key.startsWith(API_KEY_PREFIX) ? key : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
