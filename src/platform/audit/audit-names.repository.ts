import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { EntityTarget, FindOptionsSelect, FindOptionsWhere } from 'typeorm';
import { Database } from '../database/index.js';
import type { TenantOwned } from '../database/index.js';
import type { AuditEntry } from './audit.entity.js';

type Target = Pick<AuditEntry, 'targetType' | 'targetId'>;
type NamesOf = (
  tenantId: string,
  ids: readonly number[],
) => Promise<[id: number, name: string | null][]>;

/**
 * The names of the records of the audit log. Declared here; features register the kinds of records whose names every user
 * of the tenant may know.
 */
@Injectable()
export class AuditNames {
  private readonly kinds = new Map<string, NamesOf>();

  constructor(private readonly database: Database) {}

  /** `kind` is the target of its entries, `name` its field; `filter` narrows to the records whose names all may know. */
  join<E extends TenantOwned>(
    kind: string,
    entity: EntityTarget<E>,
    name: keyof E & string,
    filter: FindOptionsWhere<E> = {},
  ): void {
    this.kinds.set(kind, async (tenantId, ids) => {
      const rows = await this.database.repository(entity).find({
        select: { id: true, [name]: true } as FindOptionsSelect<E>,
        where: { ...filter, tenantId, id: In(ids) } as FindOptionsWhere<E>,
      });
      return rows.map((row) => [row.id, row[name]]);
    });
  }

  /** The names that the records of the entries have now; null for a record that is gone or has none. */
  async of(
    tenantId: string,
    entries: readonly Target[],
  ): Promise<(entry: Target) => string | null> {
    const names = new Map<string, string | null>();
    for (const [kind, namesOf] of this.kinds) {
      const targets = entries.filter(({ targetType }) => targetType === kind);
      const ids = new Set(targets.map(({ targetId }) => targetId ?? '').filter(isId));
      if (ids.size === 0) continue;
      const named = await namesOf(tenantId, [...ids].map(Number));
      for (const [id, name] of named) names.set(`${kind} ${id}`, name);
    }
    return ({ targetType, targetId }) => names.get(`${targetType} ${targetId}`) ?? null;
  }
}

function isId(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}
