import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import { currentRequest } from '../http/index.js';
import { AuditRepository } from './audit.repository.js';

export type AuditAction =
  | 'create'
  | 'update'
  | 'delete'
  | 'login'
  | 'login-failed'
  | 'logout'
  | 'register'
  | 'permission-change'
  | 'credential-change'
  | 'password-change'
  | 'status-change'
  | 'switch-tenant'
  | 'revoke'
  | 'upload';

/** Who acted: a caller or, without a sign-in, what is known. `tenantId` is the tenant of the changed record. */
export type AuditActor =
  | Pick<Caller, 'homeTenantId' | 'tenantId' | 'userId' | 'userName' | 'apiKey'>
  | { readonly tenantId: string; readonly userName?: string; readonly userId?: number };

export interface AuditRecord {
  readonly action: AuditAction;
  /** The kind of record, in the glossary's word: 'provider', 'user'. */
  readonly target: string;
  readonly id?: number | string;
  /**
   * Details of the change: names of changed fields, old and new status. Never a password, credential, token or part of
   * one, and no text of conversations or documents, because an entry cannot be removed.
   */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Widths of the columns; a name entered at the login can have any length. */
const NAME_LENGTH = 64;
const TARGET_ID_LENGTH = 64;
const REQUEST_ID_LENGTH = 64;

/** The append-only log of changes and sign-ins. */
@Injectable()
export class AuditLog {
  constructor(private readonly entries: AuditRepository) {}

  /** `recordAll` for one entry. */
  async record(actor: AuditActor, entry: AuditRecord): Promise<void> {
    await this.recordAll(actor, [entry]);
  }

  /** The addresses of failed sign-ins with this name since the time. */
  failedSignIns(tenantId: string, userName: string, since: Date): Promise<string[]> {
    return this.entries.failedSignIns(tenantId, userName, since);
  }

  /**
   * Adds the entries. Call it in the transaction of the change, so that both are stored or neither is.
   * The address and the request come from the request that is being served; a job has none.
   */
  async recordAll(actor: AuditActor, entries: readonly AuditRecord[]): Promise<void> {
    const request = currentRequest();
    const rows = entries.map(({ action, target, id, detail }) => ({
      actorId: actor.userId ?? null,
      actorName: storable(actor.userName, NAME_LENGTH),
      action,
      targetType: target,
      targetId: storable(id, TARGET_ID_LENGTH),
      detail: { ...detail, ...visitor(actor), ...keyOf(actor) },
      ip: storable(request?.ip, NAME_LENGTH),
      requestId: storable(request?.id, REQUEST_ID_LENGTH),
    }));
    await this.entries.add(actor.tenantId, rows);
  }
}

/** A super administrator who has switched tenants is not a user of the tenant of this log. */
function visitor(actor: AuditActor): Record<string, string> {
  if (!('homeTenantId' in actor) || actor.homeTenantId === actor.tenantId) return {};
  return { actorTenantId: actor.homeTenantId };
}

/** Names the API key of the actor. */
function keyOf(actor: AuditActor): Record<string, number> {
  return 'apiKey' in actor && actor.apiKey ? { byApiKey: actor.apiKey.id } : {};
}

/** Without NUL, which PostgreSQL refuses, and cut to the column, because a failing entry would roll back the change. */
function storable(value: string | number | undefined, length: number): string | null {
  if (value === undefined) return null;
  return String(value).replaceAll('\0', '').slice(0, length);
}
