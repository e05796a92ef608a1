import { Injectable } from '@nestjs/common';
import { TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { Answer, OK_MESSAGE } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { CreateProviderBody, ProviderListQuery, UpdateProviderBody } from './provider.dto.js';
import { PROVIDER_ENABLED } from './provider.entity.js';
import type { Provider } from './provider.entity.js';
import {
  DuplicateProviderCodeError,
  ProviderUnavailableError,
  ProviderRepository,
} from './provider.repository.js';
import { readProvider } from './provider.dto.js';
import { toProviderView } from './provider.view.js';
import type { ProviderView } from './provider.view.js';

/** The part of a provider that other modules may read. */
export interface ProviderRecord {
  readonly providerCode: string;
  readonly apiHost: string | null;
  readonly protocolVersion: string | null;
}

/** Lists what uses models of the provider codes. */
export type ProviderUsers = (
  tenantId: string,
  providerCodes: readonly string[],
) => Promise<readonly Message[]>;

/** Provider records. Saving one never calls the service it describes. */
@Injectable()
export class ProviderService {
  private readonly users: ProviderUsers[] = [];

  constructor(
    private readonly providers: ProviderRepository,
    private readonly database: Database,
    private readonly revision: TenantRevision,
    private readonly audit: AuditLog,
  ) {}

  /** Registers a function that lists what uses models, called when codes lose their provider. */
  join(users: ProviderUsers): void {
    this.users.push(users);
  }

  async list(caller: Caller, query: ProviderListQuery): Promise<Page<ProviderView>> {
    return (await this.providers.page(caller.tenantId, query)).map(toProviderView);
  }

  async get(caller: Caller, id: number): Promise<ProviderView> {
    return toProviderView(await this.providers.providers.get(caller.tenantId, id));
  }

  /** The stored record of the provider, also of a disabled one. */
  async record(tenantId: string, id: number): Promise<ProviderRecord> {
    const { providerCode, apiHost, protocolVersion } = await this.providers.providers.get(
      tenantId,
      id,
    );
    return { providerCode, apiHost, protocolVersion };
  }

  async create(caller: Caller, body: CreateProviderBody): Promise<ProviderView> {
    const { tenantId } = caller;
    const { providerCode } = body;
    const { providerName, ...rest } = readProvider(body);
    if (providerName === undefined)
      throw new InvalidInputError(msg`providerName must not be empty.`);
    return this.database.transaction(async () => {
      if (await this.providers.byCode(tenantId, providerCode)) {
        throw new DuplicateProviderCodeError(providerCode);
      }
      const { id } = await this.providers.insert(tenantId, { ...rest, providerName, providerCode });
      await this.revision.increment(tenantId);
      await this.audit.record(caller, {
        action: 'create',
        target: 'provider',
        id,
        detail: { providerCode },
      });
      return toProviderView(await this.providers.providers.get(tenantId, id));
    });
  }

  async update(caller: Caller, body: UpdateProviderBody): Promise<Answer<ProviderView>> {
    const { tenantId } = caller;
    const { id, revision, providerCode } = body;
    return this.database.transaction(async () => {
      const current = () => this.get(caller, id);
      await this.providers.providers.requireRevision(tenantId, id, { expected: revision, current });
      const before = await this.providers.providers.get(tenantId, id);
      const change = { ...readProvider(body, before), providerCode };
      if (providerCode !== undefined) await this.refuseDuplicate(tenantId, id, providerCode);
      await this.providers.update(tenantId, id, change);
      await this.revision.increment(tenantId);
      const after = await this.providers.providers.get(tenantId, id);
      await this.audit.record(caller, {
        action: 'update',
        target: 'provider',
        id,
        detail: changeForAudit(before, after),
      });
      const leftBehind = lostCodes(before, after);
      return new Answer(toProviderView(after), await this.message(tenantId, leftBehind));
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<Answer<null>> {
    const { tenantId } = caller;
    return this.database.transaction(async () => {
      const codes = (await this.providers.withIds(tenantId, ids)).map((row) => row.providerCode);
      await this.providers.markDeleted(tenantId, ids);
      await this.revision.increment(tenantId);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'provider', id });
      }
      return new Answer(null, await this.message(tenantId, codes));
    });
  }

  /**
   * The provider of the code, or ProviderUnavailableError when models of it can be neither saved nor called; it names the model
   * that was to be called.
   */
  async requireEnabled(
    tenantId: string,
    providerCode: string,
    modelName?: string,
  ): Promise<ProviderRecord> {
    const provider = await this.providers.byCode(tenantId, providerCode);
    if (provider?.status !== PROVIDER_ENABLED) {
      throw new ProviderUnavailableError(providerCode, modelName);
    }
    const { apiHost, protocolVersion } = provider;
    return { providerCode, apiHost, protocolVersion };
  }

  /** The codes whose models can be used. */
  async enabledCodes(tenantId: string): Promise<string[]> {
    return (await this.providers.enabled(tenantId)).map((provider) => provider.providerCode);
  }

  private async refuseDuplicate(tenantId: string, id: number, providerCode: string): Promise<void> {
    const holder = await this.providers.byCode(tenantId, providerCode);
    if (holder && holder.id !== id) throw new DuplicateProviderCodeError(providerCode);
  }

  /** Reports how many models can no longer be called because the codes have no enabled provider any more, and what used them. */
  private async message(tenantId: string, lostCodes: readonly string[]): Promise<Message> {
    const count =
      lostCodes.length === 0 ? 0 : await this.providers.countModels(tenantId, lostCodes);
    if (count === 0) return OK_MESSAGE;
    const codes = lostCodes.join(', ');
    const warning =
      count === 1
        ? msg`1 model uses ${codes} and cannot be called until it can use an enabled provider again.`
        : msg`${count} models use ${codes} and cannot be called until they can use an enabled provider again.`;
    const users = await Promise.all(this.users.map((usersOf) => usersOf(tenantId, lostCodes)));
    return sentences([OK_MESSAGE, warning, ...users.flat()]);
  }
}

function lostCodes(before: Provider, after: Provider): string[] {
  const wasUsable = before.status === PROVIDER_ENABLED;
  const isUsable = after.status === PROVIDER_ENABLED && after.providerCode === before.providerCode;
  return wasUsable && !isUsable ? [before.providerCode] : [];
}

const AUDITED_FIELDS = [
  'providerName',
  'providerCode',
  'providerIcon',
  'providerDesc',
  'apiHost',
  'protocolVersion',
  'status',
  'sortOrder',
  'remark',
] as const;

/** Only scheme, host and port: the rest of an address may hold what an audit log must not. */
function originOf(apiHost: string | null): string {
  return URL.parse(apiHost ?? '')?.origin ?? '';
}

function changeForAudit(before: Provider, after: Provider): Record<string, unknown> {
  return {
    fields: AUDITED_FIELDS.filter((field) => before[field] !== after[field]),
    ...(before.status !== after.status && { status: after.status }),
    ...(before.providerCode !== after.providerCode && { providerCode: after.providerCode }),
    ...(before.apiHost !== after.apiHost && {
      oldHost: originOf(before.apiHost),
      newHost: originOf(after.apiHost),
    }),
  };
}
