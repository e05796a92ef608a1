import { In } from 'typeorm';
import type {
  DeepPartial,
  EntityTarget,
  FindOptionsOrder,
  FindOptionsWhere,
  ObjectLiteral,
  Repository,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import { NotFoundError } from '../error/index.js';
import type { Message } from '../message/index.js';
import { MAX_CHOICES, orderOf, Page, rowsOf } from '../http/index.js';
import type { PageQuery } from '../http/index.js';
import type { Database } from './database.js';
import { requireRevision } from './revision.js';
import type { RevisedChange } from './revision.js';

export interface TenantOwned extends ObjectLiteral {
  id: number;
  tenantId: string;
}

type Where<E> = FindOptionsWhere<E> | FindOptionsWhere<E>[];

/**
 * The rows of one table, asked tenant by tenant: no method finds by id alone. A feature's repository
 * holds one and adds its own queries beside it. `scope` narrows further, to the rows of one user for example;
 * what lies outside the tenant or the scope is answered like what does not exist.
 */
export class TenantScoped<E extends TenantOwned> {
  constructor(
    private readonly database: Database,
    private readonly entity: EntityTarget<E>,
    /** The name of one row in messages: "The provider". */
    private readonly label: Message,
  ) {}

  get rows(): Repository<E> {
    return this.database.repository(this.entity);
  }

  async find(tenantId: string, where: Where<E> = {}, order?: FindOptionsOrder<E>): Promise<E[]> {
    return this.rows.find({ where: within(tenantId, where), ...(order && { order }) });
  }

  /** The first MAX_CHOICES rows, for a list that a form shows whole. */
  async choices(tenantId: string, where: Where<E>, order: FindOptionsOrder<E>): Promise<E[]> {
    return this.rows.find({ where: within(tenantId, where), order, take: MAX_CHOICES });
  }

  async findOne(tenantId: string, where: Where<E>, order?: FindOptionsOrder<E>): Promise<E | null> {
    return this.rows.findOne({ where: within(tenantId, where), ...(order && { order }) });
  }

  async count(tenantId: string, where: Where<E> = {}): Promise<number> {
    return this.rows.count({ where: within(tenantId, where) });
  }

  /** The row, or NotFoundError. */
  async get(tenantId: string, id: number, scope: FindOptionsWhere<E> = {}): Promise<E> {
    const row = await this.findOne(tenantId, { ...scope, id });
    if (!row) throw new NotFoundError(this.label);
    return row;
  }

  /** The row, locked until the transaction ends, or NotFoundError. Call it in a transaction. */
  async lock(tenantId: string, id: number): Promise<E> {
    const row = await this.rows.findOne({
      where: within(tenantId, { id } as FindOptionsWhere<E>),
      lock: { mode: 'pessimistic_write' },
    });
    if (!row) throw new NotFoundError(this.label);
    return row;
  }

  /** Like requireRevision, for one row of the tenant. */
  async requireRevision(tenantId: string, id: number, change: RevisedChange): Promise<void> {
    const where = within(tenantId, { id } as FindOptionsWhere<E>);
    await requireRevision(this.rows, where, this.label, change);
  }

  /** The requested page. The client's order comes first, then the default one, which must end in a unique field. */
  async page(
    tenantId: string,
    query: PageQuery,
    where: Where<E>,
    order: FindOptionsOrder<E>,
  ): Promise<Page<E>> {
    const [rows, total] = await this.rows.findAndCount({
      where: within(tenantId, where),
      order: requestedOrder(query, order),
      ...rowsOf(query),
    });
    return new Page(rows, total);
  }

  /**
   * `page` in one statement, for a condition that costs more than the rows that it matches: the count is that of a window
   * over all of them.
   */
  async pageAtOnce(
    tenantId: string,
    query: PageQuery,
    where: Where<E>,
    order: FindOptionsOrder<E>,
  ): Promise<Page<E>> {
    const { entities, raw } = await this.rows
      .createQueryBuilder()
      .setFindOptions({
        where: within(tenantId, where),
        order: requestedOrder(query, order),
        ...rowsOf(query),
      })
      .addSelect('count(*) OVER ()', 'total')
      .getRawAndEntities<{ total: number }>();
    if (raw[0]) return new Page(entities, raw[0].total);
    const isFirst = rowsOf(query).skip === 0;
    return new Page([], isFirst ? 0 : await this.count(tenantId, where));
  }

  async insert(tenantId: string, values: Omit<DeepPartial<E>, 'tenantId'>): Promise<E> {
    const row = this.rows.create({ ...values, tenantId } as DeepPartial<E>);
    return this.rows.save(row, { transaction: false });
  }

  /** Changes the given columns; undefined ones stay. NotFoundError if there is no such row. */
  async update(
    tenantId: string,
    id: number,
    change: QueryDeepPartialEntity<E>,
    scope: FindOptionsWhere<E> = {},
  ): Promise<void> {
    const where = within(tenantId, { ...scope, id });
    if (Object.values(change).every((value) => value === undefined)) {
      await this.get(tenantId, id, scope);
      return;
    }
    const { affected } = await this.rows.update(where, change);
    if (affected === 0) throw new NotFoundError(this.label);
  }

  /** Deletes all the rows or, when one of them is not there, none. */
  async remove(
    tenantId: string,
    ids: readonly number[],
    scope: FindOptionsWhere<E> = {},
  ): Promise<void> {
    await this.database.transaction(async () => {
      const where = within(tenantId, { ...scope, id: In([...ids]) });
      const { affected } = await this.rows.delete(where);
      if (affected !== new Set(ids).size) throw new NotFoundError(this.label);
    });
  }
}

function within<E extends TenantOwned>(tenantId: string, where: Where<E>): Where<E> {
  if (Array.isArray(where)) return where.map((one) => ({ ...one, tenantId }));
  return { ...where, tenantId };
}

/** The order of the client first, then the default one for the columns that the client has not named. */
export function requestedOrder<E>(
  query: PageQuery,
  order: FindOptionsOrder<E>,
): FindOptionsOrder<E> {
  const first = Object.fromEntries(orderOf(query));
  return { ...first, ...order, ...first };
}
