import type { PermissionInfo } from './permission.catalogue.js';
import { ForbiddenError, NotFoundError } from '../error/index.js';
import { msg } from '../message/index.js';
import type { Phrase } from '../message/index.js';
import type { Origin } from './api-surface.js';
import { ALL_PERMISSIONS } from './permission.catalogue.js';

/** What the client of the caller needs in the text of chat messages, because it reads nothing else of them. */
export interface InlineContent {
  /** Thinking text between <think> and </think>, in lists of messages. */
  readonly thinking: boolean;
  /** A paragraph at the end of an answer that names its sources. */
  readonly sources: boolean;
  /** Why an answer failed, or that it was cut. */
  readonly failures: boolean;
}

/** For work without a client, and for clients that read every field. */
export const NOTHING_INLINE: InlineContent = { thinking: false, sources: false, failures: false };

/** The kinds of records that an API key can be limited to. */
export type LimitedRecords = 'models' | 'agents' | 'knowledgeBases';

/** The API key that a request was sent with. */
export interface CallerKey {
  readonly id: number;
  /** The ids that the key is limited to, of each kind; undefined where it is not limited. */
  readonly limits: Readonly<Record<LimitedRecords, ReadonlySet<number> | undefined>>;
  /** Requests with a parameter that the model does not know are refused. */
  readonly strictParameters: boolean;
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
  /** The revision of the tenant when the request began. What is cached for this revision is valid. */
  readonly revision: number;
  /** Undefined for a request with a sign-in, and for a job. */
  readonly apiKey?: CallerKey | undefined;
  /** When sign-in or key end by themselves, in milliseconds since the epoch. */
  readonly validUntil?: number | undefined;
}

export function isSuperAdmin(caller: Caller): boolean {
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

/** NotFoundError for `what` if a record is not among those that the API key of the caller is limited to. */
export function requireWithinKey(
  caller: WithKey,
  kind: LimitedRecords,
  ids: readonly number[],
  what: Phrase,
): void {
  if (!ids.every((id) => isWithinKey(caller, kind, id))) throw new NotFoundError(what);
}

/** ForbiddenError if the API key of the caller is limited to records of the kind: a new one would be outside of the limit. */
export function requireUnlimitedKey(caller: WithKey, kind: LimitedRecords, what: Phrase): void {
  if (caller.apiKey?.limits[kind] === undefined) return;
  throw new ForbiddenError(
    msg`This API key is limited to chosen ${what} and cannot change others. Use a key without this limit, or sign in.`,
  );
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
    revision,
  };
}
