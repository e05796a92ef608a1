import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { DeepPartial } from 'typeorm';
import {
  containing,
  Database,
  requestedOrder,
  requireRevision,
} from '../../platform/database/index.js';
import type { RevisedChange } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { Page, rowsOf } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { TenantListQuery } from './tenant.dto.js';
import { Tenant } from './tenant.entity.js';

/** Number of the advisory lock that only one starting process holds at a time. */
const SEED_LOCK = 6_039_002;

/** Tenants, like clients, belong to the installation: the methods take no tenant. */
@Injectable()
export class TenantRepository {
  constructor(private readonly database: Database) {}

  /** Waits until no other process seeds, and holds the lock until the transaction ends. */
  async lockSeed(): Promise<void> {
    await this.database.query('SELECT pg_advisory_xact_lock($1)', [SEED_LOCK]);
  }

  async byTenantId(tenantId: string): Promise<Tenant | null> {
    return this.database.repository(Tenant).findOneBy({ tenantId });
  }

  async get(id: number): Promise<Tenant> {
    const tenant = await this.database.repository(Tenant).findOneBy({ id });
    if (!tenant) throw new NotFoundError(msg`The tenant`);
    return tenant;
  }

  /** Like requireRevision, for one tenant. */
  async requireRevision(id: number, change: RevisedChange): Promise<void> {
    await requireRevision(this.database.repository(Tenant), { id }, msg`The tenant`, change);
  }

  async byIds(ids: readonly number[]): Promise<Tenant[]> {
    return this.database.repository(Tenant).findBy({ id: In([...ids]) });
  }

  async all(): Promise<Tenant[]> {
    return this.database.repository(Tenant).find({ order: { id: 'ASC' } });
  }

  async page(query: TenantListQuery): Promise<Page<Tenant>> {
    const { tenantId, companyName, contactUserName, contactPhone, status } = query;
    const [rows, total] = await this.database.repository(Tenant).findAndCount({
      where: {
        ...(tenantId && { tenantId }),
        ...(companyName && { companyName: containing(companyName) }),
        ...(contactUserName && { contactUserName: containing(contactUserName) }),
        ...(contactPhone && { contactPhone: containing(contactPhone) }),
        ...(status && { status }),
      },
      order: requestedOrder(query, { id: 'DESC' }),
      ...rowsOf(query),
    });
    return new Page(rows, total);
  }

  async insert(values: DeepPartial<Tenant>): Promise<Tenant> {
    const tenants = this.database.repository(Tenant);
    return tenants.save(tenants.create(values), { transaction: false });
  }

  async update(id: number, change: Partial<Tenant>): Promise<void> {
    await this.database.repository(Tenant).update({ id }, change);
  }

  /** Deletes the tenant. Foreign keys cascade to all its rows except those of the audit log. */
  async erase(tenantId: string): Promise<void> {
    await this.database.query("SET LOCAL plinth.erasing = 'on'");
    await this.database.query('DELETE FROM audit_entry WHERE tenant_id = $1', [tenantId]);
    await this.database.query("SET LOCAL plinth.erasing = 'off'");
    await this.database.repository(Tenant).delete({ tenantId });
  }
}
