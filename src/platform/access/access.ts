import jwt from 'jsonwebtoken';
import { z } from 'zod';
import {
  applyDecorators,
  createParamDecorator,
  Inject,
  Injectable,
  SetMetadata,
} from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { LRUCache } from 'lru-cache';
import { Strategy } from 'passport-jwt';
import { Reflector } from '@nestjs/core';
import passport from 'passport';
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ALL_PERMISSIONS, isKeyPermission, isKnownPermission } from './permission.catalogue.js';
import type { PermissionInfo } from './permission.catalogue.js';
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  UnauthenticatedError,
} from '../error/index.js';
import { anyOf, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { inTenant } from '../database/index.js';
import { AroundInterceptor } from '../http/index.js';

/** The interfaces of the service, each for clients of its own. An API key can be limited to some. */
export const API_SURFACES = ['rest', 'v1', 'scim', 'mcp'] as const;
export type ApiSurface = (typeof API_SURFACES)[number];

/** How work came to the service: through an interface, as a line of a batch, or as a job of its own. */
export const ORIGINS = [...API_SURFACES, 'batch', 'job'] as const;
export type Origin = (typeof ORIGINS)[number];

/**
 * The interface of a path: `v1` for clients of other vendors, `scim` for directories, `mcp` for clients of the Model Context
 * Protocol, `rest` for everything else.
 */
export function apiSurfaceOf({ path }: { readonly path: string }): ApiSurface {
  if (/^\/v1(beta)?(\/|$)/i.test(path)) return 'v1';
  if (/^\/mcp(\/gateway)?\/?$/i.test(path)) return 'mcp';
  return /^\/scim(\/|$)/i.test(path) ? 'scim' : 'rest';
}

/** Parts that the text of chat messages includes for a client that reads nothing but the text. */
export interface InlineContent {
  /** Thinking text between <think> and </think>, in lists of messages. */
  readonly thinking: boolean;
  /** A paragraph at the end of an answer that names its sources. */
  readonly sources: boolean;
  /** Why an answer failed, or that it was cut. */
  readonly failures: boolean;
}

/** The setting for work without a client and for clients that read every field. */
export const NOTHING_INLINE: InlineContent = { thinking: false, sources: false, failures: false };

/** The kinds of records that an API key can be limited to. */
export type LimitedRecords = 'models' | 'agents' | 'knowledgeBases';

/** Calls of tools that ask a person: a key has none, so they are refused unless its owner allows all of them. */
export const TOOL_CONSENTS = ['refuse', 'allow'] as const;
export type ToolConsent = (typeof TOOL_CONSENTS)[number];

/** The API key that a request was sent with. */
export interface CallerKey {
  readonly id: number;
  /** The ids that the key is limited to, of each kind; undefined where it is not limited. */
  readonly limits: Readonly<Record<LimitedRecords, ReadonlySet<number> | undefined>>;
  /** The tags that requests with the key may have. */
  readonly tags: readonly string[];
  /** Requests with a parameter that the model does not know are refused. */
  readonly strictParameters: boolean;
  readonly toolConsent: ToolConsent;
  /** Incremented when permissions or limits of the key change. */
  readonly rightsVersion: number;
  /** Incremented when the key is rotated. */
  readonly secretVersion: number;
}

/** The user on whose behalf work is done: the first argument of every service method, and part of every job. */
export interface Caller {
  /** The tenant whose records are read and changed; super administrators can switch to another than their own. */
  readonly tenantId: string;
  /** The tenant that the user belongs to. */
  readonly homeTenantId: string;
  readonly userId: number;
  readonly userName: string;
  readonly clientId: string;
  /** How the work came to the service. */
  readonly origin: Origin;
  readonly inline: InlineContent;
  /** The sign-in that the token belongs to. */
  readonly loginSessionId: string;
  readonly permissions: ReadonlySet<string>;
  readonly roleKeys: readonly string[];
  /**
   * What grants on records can name of the user: `tenant`, `user:7`, `role:3` for each enabled role, `group:9` for each group,
   * those around a group of the user included.
   */
  readonly subjects: readonly string[];
  /** The revision of the tenant when the request began. What is cached for this revision is valid. */
  readonly revision: number;
  /** The API key; undefined for a request with a sign-in and for a job. */
  readonly apiKey?: CallerKey | undefined;
  /** The tags of the request, ascending: usage and limits count them. undefined without any. */
  readonly tags?: readonly string[] | undefined;
  /** The end of the sign-in or key in milliseconds since the epoch; undefined if it has none. */
  readonly validUntil?: number | undefined;
}

export function isSuperAdmin(caller: Pick<Caller, 'permissions'>): boolean {
  return caller.permissions.has(ALL_PERMISSIONS);
}

/** Whether the caller has one of the permissions or is a super administrator. */
export function mayAny(caller: Caller, permissions: readonly string[]): boolean {
  return (
    isSuperAdmin(caller) || permissions.some((permission) => caller.permissions.has(permission))
  );
}

/** Whether the caller can give the permission to a role or a key. */
export function isOffered(caller: Caller, { permission, superAdminOnly }: PermissionInfo): boolean {
  return !superAdminOnly && mayAny(caller, [permission]);
}

export function requireSuperAdmin(caller: Caller): void {
  if (!isSuperAdmin(caller)) throw new ForbiddenError();
}

type WithKey = Pick<Caller, 'apiKey'>;

/** Whether the record is among those that the API key of the caller is limited to; true without a key or a limit. */
export function isWithinKey({ apiKey }: WithKey, kind: LimitedRecords, id: number): boolean {
  return apiKey?.limits[kind]?.has(id) ?? true;
}

/** The ids that the API key of the caller is limited to, ascending; undefined without a key or a limit. */
export function idsOfKey({ apiKey }: WithKey, kind: LimitedRecords): number[] | undefined {
  const limit = apiKey?.limits[kind];
  return limit && [...limit].sort((a, b) => a - b);
}

/** Throws NotFoundError for `what` if a record is not among those that the API key of the caller is limited to. */
export function requireWithinKey(
  caller: WithKey,
  kind: LimitedRecords,
  ids: readonly number[],
  what: Message,
): void {
  if (!ids.every((id) => isWithinKey(caller, kind, id))) throw new NotFoundError(what);
}

/** Throws ForbiddenError if the API key of the caller is limited to records of the kind: a new one would be outside of the limit. */
export function requireUnlimitedKey(caller: WithKey, kind: LimitedRecords, what: Message): void {
  if (caller.apiKey?.limits[kind] === undefined) return;
  throw new ForbiddenError(
    msg`This API key is limited to chosen ${what} and cannot change others. Use a key without this limit, or sign in.`,
  );
}

/** The groups of the caller, ascending. */
export function groupIdsOf({ subjects }: Pick<Caller, 'subjects'>): number[] {
  return subjects
    .flatMap((subject) => (subject.startsWith('group:') ? [Number(subject.slice(6))] : []))
    .sort((one, other) => one - other);
}

/** The caller in their own tenant, whichever one they have switched to. */
export function inHomeTenant(caller: Caller): Caller {
  return { ...caller, tenantId: caller.homeTenantId };
}

/** The service itself, for work without a user, such as seeding. No user has its user id, 0. */
export function systemCaller(tenantId: string, revision: number): Caller {
  return {
    tenantId,
    homeTenantId: tenantId,
    userId: 0,
    userName: 'system',
    clientId: 'system',
    origin: 'job',
    inline: NOTHING_INLINE,
    loginSessionId: 'system',
    permissions: new Set([ALL_PERMISSIONS]),
    roleKeys: [],
    subjects: ['tenant'],
    revision,
  };
}

/** Finds the caller of a sign-in. Declared here, implemented by identity/. */
export abstract class CallerResolver {
  /**
   * The caller of the sign-in that a verified token names, or undefined when it has expired, was revoked, was idle for
   * too long, or its user, client or tenant is disabled. Counts as activity.
   */
  abstract resolve(claims: TokenClaims): Promise<Caller | undefined>;

  /** The caller as of now, or undefined when the sign-in is no longer valid. Does not count as activity. */
  abstract refresh(signIn: SignIn): Promise<Caller | undefined>;
}

/** The parts of a caller that name the sign-in. */
export type SignIn = Pick<
  Caller,
  'tenantId' | 'homeTenantId' | 'userId' | 'clientId' | 'loginSessionId' | 'validUntil' | 'origin'
>;

/** The origin of a request, by which an API key can be limited. */
export interface RequestOrigin {
  readonly apiSurface: ApiSurface;
  readonly address: string | undefined;
}

/** Finds the caller of an API key. Declared here, implemented by apikey/. */
export abstract class ApiKeyCallers {
  /**
   * The owner of the key with the rights that both have now. UnauthenticatedError says why the key is not valid,
   * ForbiddenError that it may not be used from this origin. Counts as a use of the key.
   */
  abstract resolve(key: string, origin: RequestOrigin): Promise<Caller>;

  /**
   * The caller as of now, or undefined when the key is no longer valid or its limits have changed. Does not count as a use.
   */
  abstract refresh(caller: Caller): Promise<Caller | undefined>;

  /**
   * The owner of a key with the rights that both have now, for work that was begun with the key; undefined when it is no longer
   * valid. Does not count as a use.
   */
  abstract current(
    tenantId: string,
    id: number,
    origin: Caller['origin'],
  ): Promise<Caller | undefined>;
}

const TOKEN_ALGORITHM = 'HS256';

/** The claims of a login token. They prove nothing alone: the sign-in they name must still be open. */
const tokenClaims = z.object({
  sid: z.uuid(),
  tenantId: z.string(),
  userId: z.number(),
  userName: z.string(),
  clientid: z.string(),
  exp: z.number(),
});

export type TokenClaims = z.output<typeof tokenClaims>;

export function signToken(claims: TokenClaims, key: Buffer): string {
  return jwt.sign(claims, key, { algorithm: TOKEN_ALGORITHM });
}

/** The access rule of a route. Routes without a rule are refused. */
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
      /** A permission that is required in addition. */
      readonly also: string | undefined;
      readonly tokenInQuery: boolean;
    };

export const ACCESS_RULE = 'access:rule';

/** Every API key may call the route. */
const ANY_KEY = 'any';

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

function declared(rule: AccessRule, label: string): MethodDecorator & ClassDecorator {
  const takesKeys = rule.kind === 'permission' || (rule.kind === 'login' && rule.apiKey);
  return applyDecorators(
    SetMetadata(ACCESS_RULE, rule),
    ApiExtension('x-permission', label),
    ApiSecurity({ authorization: [], clientid: [] }),
    ...(takesKeys ? [ApiSecurity({ apiKey: [] })] : []),
  );
}

/** A login token and the client that it is used with. */
interface Credentials {
  readonly token: string;
  readonly clientId: string;
}

/** A request with the credentials and the caller that the authentication guard has read. */
interface AuthenticatedRequest extends Request {
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

/** Verifying a signature takes some 100 µs, which is more than everything else this process does to authenticate. */
const MAX_CACHED_TOKENS = 10_000;

/** Verifies the login token that the guard has read from the request, and resolves its caller. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  private readonly verified = new LRUCache<string, TokenClaims>({ max: MAX_CACHED_TOKENS });

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly callers: CallerResolver,
  ) {
    super({
      jwtFromRequest: ({ credentials }: AuthenticatedRequest) => credentials?.token ?? null,
      secretOrKey: config.tokenKey,
      algorithms: [TOKEN_ALGORITHM],
      passReqToCallback: true,
    });
  }

  /** Runs on a copy of the strategy that Passport makes for each request and gives `success`, `fail` and `error`. */
  override authenticate(request: AuthenticatedRequest): void {
    const claims = this.verified.get(request.credentials?.token ?? '');
    if (!claims || claims.exp * 1_000 <= Date.now()) {
      super.authenticate(request);
      return;
    }
    this.validate(request, claims).then(
      (caller) => {
        if (caller) this.success(caller);
        else this.fail(401);
      },
      (error: unknown) => {
        this.error(error as Error);
      },
    );
  }

  /** The caller, or undefined when the token is of another client or its sign-in has ended. */
  async validate(request: AuthenticatedRequest, payload: unknown): Promise<Caller | undefined> {
    const { credentials } = request;
    const claims = tokenClaims.safeParse(payload).data;
    if (!credentials || !claims || claims.clientid !== credentials.clientId) return undefined;
    this.verified.set(credentials.token, claims);
    const caller = await this.callers.resolve(claims);
    const origin = apiSurfaceOf(request);
    return caller && caller.origin !== origin ? { ...caller, origin } : caller;
  }
}

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

  /** Resolves the caller of an API key. A public route, such as signing out, is called without a caller, because a key has no sign-in. */
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
    requireAccess(rule, context.switchToHttp().getRequest<AuthenticatedRequest>().caller);
    return true;
  }
}

/** Throws ForbiddenError, or UnauthenticatedError without a caller, unless the rule lets the caller call its route. */
export function requireAccess(rule: AccessRule, caller: Caller | undefined): void {
  if (rule.kind === 'login' && caller?.apiKey) requireForKey(caller, rule.apiKey);
  if (rule.kind !== 'permission') return;
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
}

/** Throws ForbiddenError unless the key of the caller may call a route that every signed-in user may. */
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
  const token = authorization && withoutScheme(authorization);
  return token && clientId ? { token, clientId } : undefined;
}

function withoutScheme(authorization: string): string {
  return authorization.replace(/^Bearer\s+/i, '').trim();
}

/** Headers in which clients of OpenAI, Anthropic, Azure and Google send a key. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** The API key of the first of the headers. One in the query would be in the logs of every proxy. */
function readKey({ headers }: AuthenticatedRequest): string | undefined {
  const name = KEY_HEADERS.find((one) => headers[one] !== undefined);
  const headerValue = name && headers[name];
  if (typeof headerValue !== 'string') return undefined;
  const key = name === 'authorization' ? withoutScheme(headerValue) : headerValue;
  return key.startsWith(API_KEY_PREFIX) ? key : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Binds the request to the tenant of its caller, for pipes, handler, and everything that they start, streams included.
 * A public route without a caller stays unbound: it reaches rows of a tenant only by binding itself to one. The body has been
 * read by then, so the caller gets the tags of the request.
 */
@Injectable()
export class TenantInterceptor extends AroundInterceptor {
  override async around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const { caller, headers } = request;
    if (!caller) return work();
    const isOfClient = caller.origin === 'v1';
    const body: unknown = isOfClient ? request.body : undefined;
    const tagged = readTags(caller, headers[TAGS_HEADER], body);
    request.caller = tagged.caller;
    if (isOfClient) request.body = tagged.body;
    return inTenant(caller.tenantId, work);
  }
}

const TAGS_HEADER = 'x-plinth-tags';
const MAX_TAG_COUNT = 10;
export const MAX_TAG_CHARS = 64;

/** A tag: no commas, which separate tags, and no spaces around it. */
export const TAG = /^[^\s,\p{C}](?:[^,\p{C}]*[^\s,\p{C}])?$/u;

const taggedBody = z.looseObject({
  metadata: z.looseObject({ tags: z.union([z.string(), z.array(z.string())]) }),
});

/**
 * The caller with the tags of a request, from the header and, below /v1, from `metadata.tags` of the body: texts separated by
 * commas, which OpenAI allows as metadata, or a list, as clients of LiteLLM send it (docs.litellm.ai, Request Tags, October 2026).
 * A list is taken out of the body, because services refuse it. A key without tags leaves the body to the service as it is. Throws
 * InvalidInputError for too many, and ForbiddenError for one that the key may not use.
 */
export function readTags<Body>(
  caller: Caller,
  header: string | readonly string[] | undefined,
  body: Body,
): { readonly caller: Caller; readonly body: Body } {
  const allowed = caller.apiKey?.tags ?? [];
  const parsed = allowed.length > 0 ? taggedBody.safeParse(body).data : undefined;
  if (header === undefined && !parsed) return { caller, body };
  const { tags: inBody = [], ...metadata } = parsed?.metadata ?? {};
  const texts = [header ?? [], inBody].flat().flatMap((text) => text.split(','));
  const tags = [...new Set(texts.map((text) => text.trim()))].filter((tag) => tag !== '').sort();
  if (tags.length > MAX_TAG_COUNT) {
    throw new InvalidInputError(
      msg`A request can have at most ${MAX_TAG_COUNT} tags. Send fewer in ${TAGS_HEADER} and metadata.tags.`,
    );
  }
  const refused = tags.find((tag) => !allowed.includes(tag));
  if (refused !== undefined) {
    if (!caller.apiKey) {
      throw new ForbiddenError(
        msg`Only API keys have tags. Send the request with a key that may use the tag ${refused}, or without ${TAGS_HEADER}.`,
      );
    }
    throw new ForbiddenError(
      msg`The tag ${refused} is not among those that this API key may use. Add it to the tags of the key, or send the request without it.`,
    );
  }
  return {
    caller: tags.length > 0 ? { ...caller, tags } : caller,
    body: Array.isArray(inBody) && parsed ? ({ ...parsed, metadata } as Body) : body,
  };
}

/** The prefix of every API key: logs hide what follows, and secret scanners recognise it. */
export const API_KEY_PREFIX = 'sk-plinth-';

const ID_BYTES = 8;
const SECRET_BYTES = 32;
const FORM = /^sk-plinth-([\da-f]{16})-([\da-f]{64})-([\da-f]{8})$/;

/** The parts of an API key. */
export interface ReadApiKey {
  /** The public id of the key. */
  readonly keyId: string;
  /** SHA-256 of the whole key, in hex. */
  readonly digest: string;
}

export function newKeyId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** A new key with the id: `sk-plinth-<id>-<256 random bits>-<CRC-32 of what precedes>`, each part in hex. */
export function newApiKey(keyId: string): string {
  const start = `${API_KEY_PREFIX}${keyId}-${randomBytes(SECRET_BYTES).toString('hex')}`;
  return `${start}-${checksumOf(start)}`;
}

/** Reads a key; undefined for any other text and for a key with a wrong checksum. */
export function readApiKey(text: string): ReadApiKey | undefined {
  const [, keyId, , checksum] = FORM.exec(text) ?? [];
  if (keyId === undefined || checksum !== checksumOf(text.slice(0, -9))) return undefined;
  return { keyId, digest: apiKeyDigest(text) };
}

/** SHA-256 of the key in hex. It needs no salt, because a key has 256 random bits. */
export function apiKeyDigest(key: string): string {
  return hash('sha256', key, 'hex');
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
