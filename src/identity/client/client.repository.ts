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
import type { ClientListQuery } from './client.dto.js';
import { Client } from './client.entity.js';

/** Clients belong to the installation: the methods take no tenant. */
@Injectable()
export class ClientRepository {
  constructor(private readonly database: Database) {}

  async byClientId(clientId: string): Promise<Client | null> {
    return this.database.repository(Client).findOneBy({ clientId });
  }

  async byKey(clientKey: string): Promise<Client | null> {
    return this.database.repository(Client).findOneBy({ clientKey });
  }

  async get(id: number): Promise<Client> {
    const client = await this.database.repository(Client).findOneBy({ id });
    if (!client) throw new NotFoundError(msg`The client`);
    return client;
  }

  /** Like requireRevision, for one client. */
  async requireRevision(id: number, change: RevisedChange): Promise<void> {
    await requireRevision(this.database.repository(Client), { id }, msg`The client`, change);
  }

  async byIds(ids: readonly number[]): Promise<Client[]> {
    return this.database.repository(Client).findBy({ id: In([...ids]) });
  }

  async page(query: ClientListQuery): Promise<Page<Client>> {
    const { clientId, clientKey, status } = query;
    const [rows, total] = await this.database.repository(Client).findAndCount({
      where: {
        ...(clientId && { clientId }),
        ...(clientKey && { clientKey: containing(clientKey) }),
        ...(status && { status }),
      },
      order: requestedOrder(query, { id: 'DESC' }),
      ...rowsOf(query),
    });
    return new Page(rows, total);
  }

  async insert(values: DeepPartial<Client>): Promise<Client> {
    const clients = this.database.repository(Client);
    return clients.save(clients.create(values), { transaction: false });
  }

  async update(id: number, change: Partial<Client>): Promise<void> {
    await this.database.repository(Client).update({ id }, change);
  }

  async remove(ids: readonly number[]): Promise<void> {
    await this.database.repository(Client).delete({ id: In([...ids]) });
  }
}
