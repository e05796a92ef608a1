import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database, TenantScoped } from '../platform/database/index.js';
import { phrase } from '../platform/message/index.js';
import { CredentialVault, modelKeyPlace } from './credential.vault.js';
import { ModelKey } from './model-key.entity.js';

/** A further key as it is written. Without an id it is a new one; an empty apiKey keeps what is stored. */
export interface WrittenKey {
  readonly id?: number | undefined;
  readonly label: string;
  readonly apiKey: string;
  readonly weight: number;
  readonly enabled: boolean;
}

/** The further keys of models. As in ModelRepository, plain keys go in and come out only here. */
@Injectable()
export class ModelKeyRepository {
  private readonly keys: TenantScoped<ModelKey>;

  constructor(
    private readonly database: Database,
    private readonly vault: CredentialVault,
  ) {
    this.keys = new TenantScoped(database, ModelKey, phrase`The API key`);
  }

  /** The keys of all the models, in the order in which they were added. */
  async of(tenantId: string, modelIds: readonly number[]): Promise<ModelKey[]> {
    if (modelIds.length === 0) return [];
    return this.keys.find(tenantId, { modelId: In([...modelIds]) }, { id: 'ASC' });
  }

  /** Replaces the keys of the model by the list. NotFoundError for an id that is not among them. */
  async replace(tenantId: string, modelId: number, list: readonly WrittenKey[]): Promise<void> {
    const before = (await this.of(tenantId, [modelId])).map(({ id }) => id);
    const keptIds = list.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const removed = before.filter((id) => !keptIds.includes(id));
    if (removed.length > 0) await this.keys.remove(tenantId, removed);
    for (const { id, apiKey, ...values } of list) {
      if (id === undefined) await this.insert(tenantId, modelId, { apiKey, ...values });
      else {
        const credential = apiKey === '' ? undefined : this.sealed(tenantId, id, apiKey);
        await this.keys.update(tenantId, id, { ...values, credential }, { modelId });
      }
    }
  }

  /** The plain key. UnreadableCredentialError when it cannot be decrypted. */
  keyOf({ tenantId, id, credential }: ModelKey): string {
    return this.vault.open(modelKeyPlace(tenantId, id), credential);
  }

  private async insert(
    tenantId: string,
    modelId: number,
    { apiKey, ...values }: WrittenKey,
  ): Promise<void> {
    // The id is part of what the vault binds the key to, so it is drawn before the row is written.
    const [row] = await this.database.query<{ id: number }>(
      "SELECT nextval(pg_get_serial_sequence('model_key', 'id')) AS id",
    );
    if (!row) throw new Error('The sequence of key ids gave no number.');
    const { id } = row;
    const credential = this.sealed(tenantId, id, apiKey);
    await this.keys.rows.insert({ ...values, id, tenantId, modelId, credential });
  }

  private sealed(tenantId: string, id: number, apiKey: string): string {
    return this.vault.seal(modelKeyPlace(tenantId, id), apiKey);
  }
}
