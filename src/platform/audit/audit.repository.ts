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

/** The tables and columns with the names of records that every user of the tenant may know, some under a condition. */
const NAMES: Readonly<Record<string, readonly [table: string, column: string, known?: string]>> = {
  user: ['user_account', 'user_name'],
  role: ['role', 'role_name'],
  api_key: ['api_key', 'name'],
  sso_provider: ['sso_provider', 'name'],
  provider: ['provider', 'provider_name'],
  model: ['model', 'model_name'],
  agent: ['agent', 'agent_name'],
  knowledge_base: ['knowledge_base', 'name', 'named.share = 1'],
  dictionary_type: ['dictionary_type', 'dict_name'],
  dictionary_entry: ['dictionary_entry', 'dict_label'],
};

/** The names of records of a tenant, by kinds and ids. */
const NAMES_OF = Object.entries(NAMES)
  .map(
    ([type, [table, column, known = 'true']]) => `
      SELECT wanted.type, wanted.id, ${column} AS name
        FROM wanted JOIN ${table} named ON named.tenant_id = $1 AND named.id = wanted.id
       WHERE wanted.type = '${type}' AND ${known}`,
  )
  .join(' UNION ALL ');

type Target = Pick<AuditEntry, 'targetType' | 'targetId'>;

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'tenantId' | 'createTime'>;

@Injectable()
export class AuditRepository {
  private readonly entries: TenantScoped<AuditEntry>;

  constructor(private readonly database: Database) {
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

  /** The names that the records of the entries have now; null for a record that is gone or has none. */
  async names(
    tenantId: string,
    entries: readonly Target[],
  ): Promise<(entry: Target) => string | null> {
    const wanted = entries.filter(({ targetType, targetId }) => {
      return targetType in NAMES && /^\d{1,15}$/.test(targetId ?? '');
    });
    if (wanted.length === 0) return () => null;
    const rows = await this.database.query<{ type: string; id: number; name: string }>(
      `WITH wanted AS (SELECT DISTINCT type, id FROM unnest($2::text[], $3::bigint[]) AS one (type, id)) ${NAMES_OF}`,
      [tenantId, wanted.map((one) => one.targetType), wanted.map((one) => one.targetId)],
    );
    const names = new Map(rows.map(({ type, id, name }) => [`${type} ${id}`, name]));
    return ({ targetType, targetId }) => names.get(`${targetType} ${targetId}`) ?? null;
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
