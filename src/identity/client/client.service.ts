import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { inHomeTenant } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { defined } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { HIDDEN_SECRET, toClientView } from './client.dto.js';
import type {
  ChangedClientDto,
  ClientListQuery,
  ClientStatusDto,
  ClientView,
  NewClientDto,
} from './client.dto.js';
import type { Client } from './client.entity.js';
import { ClientRepository } from './client.repository.js';

/** Known grant types. Only `password` is implemented; the records of existing apps contain the others. */
const GRANT_TYPES = ['password', 'email', 'sms', 'social', 'xcx'];

/** The applications that may sign users in, to any tenant. */
@Injectable()
export class ClientService {
  constructor(
    private readonly clients: ClientRepository,
    private readonly change: AccessChange,
    private readonly database: Database,
    private readonly bus: EventBus,
  ) {}

  async list(query: ClientListQuery): Promise<Page<ClientView>> {
    return (await this.clients.page(query)).map(toClientView);
  }

  async detail(id: number): Promise<ClientView> {
    return toClientView(await this.clients.get(id));
  }

  async create(caller: Caller, input: NewClientDto): Promise<void> {
    const { clientSecret, grantTypeList, ...values } = input;
    const grantType = readGrants(grantTypeList);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        await this.requireFreeKey(input.clientKey);
        const clientId = randomBytes(16).toString('hex');
        return this.clients.insert({
          ...values,
          clientId,
          grantType,
          clientSecret: secretDigest(clientSecret),
        });
      },
      (client) => [{ action: 'create', target: 'client', id: client.id }],
    );
  }

  async update(
    caller: Caller,
    { id, revision, clientSecret: sentSecret, grantTypeList, ...input }: ChangedClientDto,
  ): Promise<void> {
    const clientSecret = sentSecret === HIDDEN_SECRET ? undefined : sentSecret;
    const values: Partial<Client> = {
      ...defined(input),
      ...(clientSecret && { clientSecret: secretDigest(clientSecret) }),
      ...(grantTypeList && { grantType: readGrants(grantTypeList) }),
    };
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const current = () => this.detail(id);
        await this.clients.requireRevision(id, { expected: revision, current });
        const client = await this.clients.get(id);
        if (values.clientKey && values.clientKey !== client.clientKey) {
          await this.requireFreeKey(values.clientKey);
        }
        if (values.status === '1') requireNotInUse(caller, client);
        await this.clients.update(id, values);
        await this.publishChange();
      },
      () => [
        {
          action: clientSecret ? 'credential-change' : 'update',
          target: 'client',
          id,
          detail: { fields: Object.keys(values) },
        },
      ],
    );
  }

  async changeStatus(caller: Caller, { id, clientId, status }: ClientStatusDto): Promise<void> {
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const client = await this.named(id, clientId);
        if (status === '1') requireNotInUse(caller, client);
        await this.clients.update(client.id, { status });
        await this.publishChange();
        return client;
      },
      (client) => [
        { action: 'status-change', target: 'client', id: client.id, detail: { status } },
      ],
    );
  }

  /** Deletes the clients and ends their sign-ins. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const clients = await this.clients.byIds(ids);
        if (clients.length !== ids.length) throw new NotFoundError(msg`The client`);
        for (const client of clients) requireNotInUse(caller, client);
        await this.clients.remove(ids);
        await this.publishChange();
      },
      () => ids.map((id) => ({ action: 'delete', target: 'client', id })),
    );
  }

  private async named(id: number | undefined, clientId: string | undefined): Promise<Client> {
    if (id !== undefined) return this.clients.get(id);
    const client = clientId ? await this.clients.byClientId(clientId) : null;
    if (!client) throw new NotFoundError(msg`The client`);
    return client;
  }

  private async requireFreeKey(clientKey: string): Promise<void> {
    if (!(await this.clients.byKey(clientKey))) return;
    throw new ConflictError(msg`The client key ${clientKey} is taken. Choose another one.`);
  }

  /** Clients serve all tenants: the open streams of all are checked after the commit. */
  private async publishChange(): Promise<void> {
    await this.database.afterCommit(() => this.bus.publish('access.changed', {}));
  }
}

/** SHA-256 of the secret in hex. The secret itself is not stored. */
export function secretDigest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function requireNotInUse(caller: Caller, client: Client): void {
  if (client.clientId !== caller.clientId) return;
  throw new ForbiddenError(
    msg`You are signed in with this client and would lock yourself out. Use another client.`,
  );
}

function readGrants(list: readonly string[]): string {
  const unknown = list.find((grant) => !GRANT_TYPES.includes(grant));
  if (unknown === undefined && list.length > 0) return [...new Set(list)].join(',');
  throw new InvalidInputError(
    msg`grantTypeList must contain one or more of ${GRANT_TYPES.join(', ')}.`,
  );
}
