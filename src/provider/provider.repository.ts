import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import { ConflictError, DomainError, NotFoundError } from '../platform/error/index.js';
import {
  containing,
  Database,
  isUniqueViolation,
  TenantScoped,
} from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { ProviderListQuery, ProviderInput } from './provider.dto.js';
import { PROVIDER_ENABLED, Provider } from './provider.entity.js';

export class DuplicateProviderCodeError extends ConflictError {
  constructor(providerCode: string) {
    super(
      msg`The provider code ${providerCode} is configured already; do not configure it twice. Change the existing provider instead.`,
    );
  }
}

/** The provider of a model is missing, deleted or disabled, so that the model can be neither saved nor called. */
export class ProviderUnavailableError extends DomainError {
  readonly code = 400;

  /** @param modelName The model that was to be called. */
  constructor(
    readonly providerCode: string,
    modelName?: string,
  ) {
    const reason = msg`The provider ${providerCode} does not exist or is not enabled. Enable the provider, or choose another one.`;
    const model = modelName === undefined ? [] : [msg`The model ${modelName} cannot be called.`];
    super(sentences([...model, reason]), { data: { providerCode, modelName } });
  }
}

type ProviderChange = ProviderInput & { readonly providerCode?: string | undefined };

const LABEL = msg`The provider`;
/** The index that stands behind "one code once per tenant" when two requests race. */
const CODE_INDEX = 'provider_code';

/** Finding leaves out deleted rows by itself, because the entity marks them by a DeleteDateColumn. */
@Injectable()
export class ProviderRepository {
  readonly providers: TenantScoped<Provider>;

  constructor(private readonly database: Database) {
    this.providers = new TenantScoped(database, Provider, LABEL);
  }

  async page(tenantId: string, query: ProviderListQuery): Promise<Page<Provider>> {
    const { providerCode, apiHost, status } = query;
    const name = query.providerName || query.name;
    return this.providers.page(
      tenantId,
      query,
      {
        ...(name && { providerName: containing(name) }),
        ...(providerCode && { providerCode }),
        ...(apiHost && { apiHost }),
        ...(status !== undefined && { status }),
      },
      { sortOrder: 'ASC', id: 'ASC' },
    );
  }

  async withIds(tenantId: string, ids: readonly number[]): Promise<Provider[]> {
    return this.providers.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  async byCode(tenantId: string, providerCode: string): Promise<Provider | null> {
    return this.providers.findOne(tenantId, { providerCode });
  }

  async enabled(tenantId: string): Promise<Provider[]> {
    return this.providers.find(tenantId, { status: PROVIDER_ENABLED });
  }

  async insert(
    tenantId: string,
    values: ProviderChange & { readonly providerName: string; readonly providerCode: string },
  ): Promise<Provider> {
    return translated(values.providerCode, () => this.providers.insert(tenantId, values));
  }

  async update(tenantId: string, id: number, change: ProviderChange): Promise<void> {
    await translated(change.providerCode, () =>
      this.providers.update(tenantId, id, change, { deletedTime: IsNull() }),
    );
  }

  /** Marks all the rows as deleted or, when one of them is not there, none; call it in a transaction. */
  async markDeleted(tenantId: string, ids: readonly number[]): Promise<void> {
    const { affected } = await this.providers.rows.softDelete({
      tenantId,
      id: In([...ids]),
      deletedTime: IsNull(),
    });
    if (affected !== ids.length) throw new NotFoundError(LABEL);
  }

  /** Counts models that name one of the codes. The model module, which imports this one, owns their table. */
  async countModels(tenantId: string, providerCodes: readonly string[]): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*) AS count FROM model WHERE tenant_id = $1 AND provider_code = ANY ($2)',
      [tenantId, providerCodes],
    );
    return row?.count ?? 0;
  }
}

async function translated<T>(
  providerCode: string | undefined,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (providerCode !== undefined && isUniqueViolation(error, CODE_INDEX)) {
      throw new DuplicateProviderCodeError(providerCode);
    }
    throw error;
  }
}
