import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { In, MoreThanOrEqual, Not } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { Caller } from '../access/index.js';
import { currentRequest } from '../http/index.js';
import type { Page } from '../http/index.js';
import { msg } from '../message/index.js';
import { containing, createdWithin, Database, likewise, TenantScoped } from '../database/index.js';
import type { AuditListQuery } from './audit.dto.js';
import { actionsOfType, FAILED_SIGN_IN, SIGN_IN_ACTIONS, typedActions } from './console-log.dto.js';
import type { OperationLogQuery, SignInLogQuery } from './console-log.dto.js';
import { AuditEntry } from './audit.entity.js';

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
  | 'upload'
  | 'access-view'
  | 'call';

/** The actor of an entry: a caller or, without a sign-in, their known data. `tenantId` is the tenant of the changed record. */
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

const MAX_ROWS_PER_INSERT = 500;

type NewAuditEntry = Omit<AuditEntry, 'id' | 'tenantId' | 'createTime'>;

@Injectable()
export class AuditRepository {
  private readonly entries: TenantScoped<AuditEntry>;

  constructor(database: Database) {
    this.entries = new TenantScoped(database, AuditEntry, msg`The audit entry`);
  }

  async add(tenantId: string, entries: readonly NewAuditEntry[]): Promise<void> {
    for (let from = 0; from < entries.length; from += MAX_ROWS_PER_INSERT) {
      const rows = entries
        .slice(from, from + MAX_ROWS_PER_INSERT)
        .map((entry) => ({ ...entry, tenantId }));
      // TypeORM's type has no place for an object of any fields.
      await this.entries.rows.insert(rows as QueryDeepPartialEntity<AuditEntry>[]);
    }
  }

  /** A page of all entries, newest first. */
  async page(tenantId: string, query: AuditListQuery): Promise<Page<AuditEntry>> {
    const { action, targetType, targetId, actorId, actorName, ip } = query;
    const where = {
      ...(action && { action }),
      ...(targetType && { targetType }),
      ...(targetId && { targetId }),
      ...(actorId && { actorId }),
      ...(actorName && { actorName: containing(actorName) }),
      ...(ip && { ip: containing(ip) }),
      ...createdWithin(query.params),
    };
    return this.entries.page(tenantId, query, where, { id: 'DESC' });
  }

  /** Everything but sign-ins, newest first. */
  async operations(tenantId: string, query: OperationLogQuery): Promise<Page<AuditEntry>> {
    const { title, operName, operIp, businessType, status } = query;
    const where = {
      ...(title && { targetType: containing(title) }),
      ...(operName && { actorName: containing(operName) }),
      ...(operIp && { ip: containing(operIp) }),
      ...createdWithin(query.params),
      // Refused and failed operations are not in the audit log.
      ...(status === '1' ? { action: In([]) } : operationsOfType(businessType)),
    };
    return this.entries.page(tenantId, query, where, { id: 'DESC' });
  }

  /** The addresses of failed sign-ins with this name, in any case, of the newest 1,000 since the time. */
  async failedSignIns(tenantId: string, userName: string, since: Date): Promise<string[]> {
    const where = {
      action: FAILED_SIGN_IN,
      actorName: likewise(userName),
      createTime: MoreThanOrEqual(since),
    };
    const { rows } = await this.entries.page(tenantId, {}, where, { id: 'DESC' });
    return [...new Set(rows.flatMap(({ ip }) => (ip === null ? [] : [ip])))];
  }

  /** Sign-ins and registrations, newest first. */
  async signIns(tenantId: string, query: SignInLogQuery): Promise<Page<AuditEntry>> {
    const { userName, ipaddr, status } = query;
    const actions = SIGN_IN_ACTIONS.filter(
      (action) => !status || (status === '1') === (action === FAILED_SIGN_IN),
    );
    const where = {
      ...(userName && { actorName: containing(userName) }),
      ...(ipaddr && { ip: containing(ipaddr) }),
      ...createdWithin(query.params),
      action: In(actions),
    };
    return this.entries.page(tenantId, query, where, { id: 'DESC' });
  }
}

function operationsOfType(type: string | undefined): Pick<FindOptionsWhere<AuditEntry>, 'action'> {
  if (!type) return { action: Not(In([...SIGN_IN_ACTIONS])) };
  const actions = actionsOfType(type);
  return { action: actions ? In(actions) : Not(In([...SIGN_IN_ACTIONS, ...typedActions()])) };
}

/** Widths of the columns; a name entered at the login can have any length. */
const MAX_NAME_CHARS = 64;
const MAX_TARGET_ID_CHARS = 64;
const MAX_REQUEST_ID_CHARS = 64;

/** The append-only log of changes and sign-ins. */
@Injectable()
export class AuditLog {
  private readonly counts = new AsyncLocalStorage<Map<string, number>>();

  constructor(private readonly entries: AuditRepository) {}

  /** Runs work whose entries are counted by their targets instead of stored, for a sweep that records one entry of them all. */
  counting<T>(counts: Map<string, number>, work: () => Promise<T>): Promise<T> {
    return this.counts.run(counts, work);
  }

  /** Like `recordAll`, for one entry. */
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
    const counts = this.counts.getStore();
    if (counts) {
      for (const { target } of entries) counts.set(target, (counts.get(target) ?? 0) + 1);
      return;
    }
    const request = currentRequest();
    const rows = entries.map(({ action, target, id, detail }) => ({
      actorId: actor.userId ?? null,
      actorName: storable(actor.userName, MAX_NAME_CHARS),
      action,
      targetType: target,
      targetId: storable(id, MAX_TARGET_ID_CHARS),
      detail: { ...detail, ...visitor(actor), ...keyOf(actor) },
      ip: storable(request?.ip, MAX_NAME_CHARS),
      requestId: storable(request?.id, MAX_REQUEST_ID_CHARS),
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

/** The text without NUL, which PostgreSQL refuses, and cut to the column, because a failing entry would roll back the change. */
function storable(value: string | number | undefined, length: number): string | null {
  if (value === undefined) return null;
  return String(value).replaceAll('\0', '').slice(0, length);
}
