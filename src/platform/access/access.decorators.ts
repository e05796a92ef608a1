import { applyDecorators, createParamDecorator, SetMetadata } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { UnauthenticatedError } from '../error/index.js';
import type { Caller } from './caller.js';
import { isKeyPermission, isKnownPermission } from './permission.catalogue.js';

/** What a route requires of its caller. Routes without a rule are refused. */
export type AccessRule =
  | { readonly kind: 'public' }
  | {
      readonly kind: 'login';
      readonly tokenInQuery: boolean;
      /** The permission that an API key needs, or ANY_KEY; undefined refuses every key. */
      readonly apiKey: string | undefined;
    }
  | {
      readonly kind: 'permission';
      readonly anyOf: readonly string[];
      /** Required in addition. */
      readonly also: string | undefined;
      readonly tokenInQuery: boolean;
    };

export const ACCESS_RULE = 'access:rule';

/** Every API key may call the route. */
export const ANY_KEY = 'any';

interface AccessOptions {
  /** Accept `Authorization` and `clientid` in the query, for addresses that a browser opens without headers. */
  readonly tokenInQuery?: boolean;
}

interface LoginOptions extends AccessOptions {
  /** A permission of `keyPermissionCatalogue`, or 'any'. Without it the route refuses API keys. */
  readonly apiKey?: string;
}

interface PermissionOptions extends AccessOptions {
  /** A permission that is required in addition. */
  readonly also?: string;
}

/** The caller needs one of the permissions. On a method it replaces the rule of the class. */
export function RequirePermission(
  first: string,
  ...rest: (string | PermissionOptions)[]
): MethodDecorator & ClassDecorator {
  const others = rest.filter((entry) => typeof entry === 'string');
  const options = rest.find((entry) => typeof entry === 'object');
  const anyOf = [first, ...others];
  const { also, tokenInQuery = false } = options ?? {};
  const needed = also === undefined ? anyOf : [...anyOf, also];
  const unknown = needed.find((permission) => !isKnownPermission(permission));
  if (unknown) throw new Error(`Permission ${unknown} is not in the catalogue.`);
  return declared(
    { kind: 'permission', anyOf, also, tokenInQuery },
    anyOf.join(' or ') + (also === undefined ? '' : ` and ${also}`),
  );
}

/** Any signed-in caller. Allowed only for the routes listed in test/architecture/routes.spec.ts. */
export function LoginOnly(options: LoginOptions = {}): MethodDecorator & ClassDecorator {
  const { apiKey, tokenInQuery = false } = options;
  if (apiKey !== undefined && apiKey !== ANY_KEY && !isKeyPermission(apiKey)) {
    throw new Error(`Permission ${apiKey} is not in the catalogue of API keys.`);
  }
  const rule = declared({ kind: 'login', tokenInQuery, apiKey }, 'any signed-in user');
  return apiKey === undefined
    ? rule
    : applyDecorators(rule, ApiExtension('x-key-permission', apiKey));
}

/** Any caller, signed in or not. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    SetMetadata(ACCESS_RULE, { kind: 'public' } satisfies AccessRule),
    ApiExtension('x-permission', 'none'),
  );
}

function declared(rule: AccessRule, shown: string): MethodDecorator & ClassDecorator {
  const takesKeys = rule.kind === 'permission' || (rule.kind === 'login' && rule.apiKey);
  return applyDecorators(
    SetMetadata(ACCESS_RULE, rule),
    ApiExtension('x-permission', shown),
    ApiSecurity({ authorization: [], clientid: [] }),
    ...(takesKeys ? [ApiSecurity({ apiKey: [] })] : []),
  );
}

/** A login token and the client that it is used with. */
export interface Credentials {
  readonly token: string;
  readonly clientId: string;
}

/** A request with the credentials and the caller that the authentication guard has found. */
export interface AuthenticatedRequest extends Request {
  credentials?: Credentials | undefined;
  caller?: Caller;
}

/** The caller of the request, as a parameter of a controller method. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Caller => {
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (!caller) throw new UnauthenticatedError();
    return caller;
  },
);

/** The caller of a public route, undefined without a sign-in. */
export const OptionalCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Caller | undefined =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().caller,
);
