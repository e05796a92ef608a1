import { Injectable } from '@nestjs/common';
import { In, MoreThanOrEqual, Not } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import { phrase } from '../message/index.js';
import { containing, createdWithin, Database, likewise, TenantScoped } from '../database/index.js';
import type { Page } from '../http/index.js';
import type { AuditListQuery } from './audit.dto.js';
import { actionsOfType, FAILED_SIGN_IN, SIGN_IN_ACTIONS, typedActions } from './console-log.dto.js';
import type { OperationLogQuery, SignInLogQuery } from './console-log.dto.js';
import { AuditEntry } from './audit.entity.js';

/** Of one statement. */
const ROWS = 500;

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'tenantId' | 'createTime'>;

@Injectable()
export class AuditRepository {
  private readonly entries: TenantScoped<AuditEntry>;

  constructor(database: Database) {
    this.entries = new TenantScoped(database, AuditEntry, phrase`The audit entry`);
  }

  async add(tenantId: string, entries: readonly NewAuditEntry[]): Promise<void> {
    for (let from = 0; from < entries.length; from += ROWS) {
      const rows = entries.slice(from, from + ROWS).map((entry) => ({ ...entry, tenantId }));
      // TypeORM's type has no place for an object of any fields.
      await this.entries.rows.insert(rows as QueryDeepPartialEntity<AuditEntry>[]);
    }
  }

  /** Newest first. */
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
      // What is refused or fails is not in the audit log.
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
