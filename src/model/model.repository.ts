import { Inject, Injectable } from '@nestjs/common';
import { In, Not } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { UnreadableCredentialError } from './model.errors.js';
import {
  columnName,
  containing,
  Database,
  SealedColumns,
  TenantScoped,
} from '../platform/database/index.js';
import type { SealedColumn } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { Model, ModelKey, storedCategory } from './model.entity.js';
import { idsOfKey, mayAny } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { MAX_CHOICES } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { AMOUNTS, ModelPrice, PRICE_FIELDS } from '../usage/index.js';
import { grantedTo } from '../grant/index.js';
import type { ModelEntriesQuery, ModelListQuery } from './model.dto.js';

/** Decides which tenants may call models with the identity that the cloud gave to this host. */
@Injectable()
export class HostIdentity {
  private readonly tenants: readonly string[];

  constructor(@Inject(CONFIG) config: Config) {
    this.tenants = config.HOST_IDENTITY_TENANTS;
  }

  isAllowed(tenantId: string): boolean {
    return this.tenants.includes('*') || this.tenants.includes(tenantId);
  }
}

/** The tables with credentials. */
export type CredentialTable = 'model' | 'model_key';

/** Encrypts credentials for the database, bound to their tenant and record. */
@Injectable()
export class CredentialVault {
  private readonly columns: Readonly<Record<CredentialTable, SealedColumn>>;

  constructor(sealed: SealedColumns) {
    this.columns = {
      model: sealed.add('model', 'credential'),
      model_key: sealed.add('model_key', 'credential'),
    };
  }

  seal(table: CredentialTable, tenantId: string, id: number, credential: string): string {
    return this.columns[table].seal(tenantId, id, credential);
  }

  /** The credential. UnreadableCredentialError for a text of another record or key, or a changed one. */
  open(table: CredentialTable, tenantId: string, id: number, sealed: string): string {
    const credential = this.columns[table].open(tenantId, id, sealed);
    if (credential === undefined) throw new UnreadableCredentialError();
    return credential;
  }
}

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
    this.keys = new TenantScoped(database, ModelKey, msg`The API key`);
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
    return this.vault.open('model_key', tenantId, id, credential);
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
    return this.vault.seal('model_key', tenantId, id, apiKey);
  }
}

/** Columns of a model that are written; undefined ones keep their value, or take their default. */
export type ModelValues = Partial<
  Omit<
    Model,
    'id' | 'tenantId' | 'credential' | 'findings' | 'priceVersion' | 'createTime' | 'updateTime'
  >
>;

/** Numbers of records that use models they can no longer use. */
export interface LostUses {
  readonly knowledgeBases: number;
  readonly agents: number;
  readonly apiKeys: number;
  /** Models that have one of the lost models as a fallback. */
  readonly fallbacks: number;
}

/** The ways in which records lose their models. */
export interface Loss {
  /** Another model answers to the name, if there is one: not so when its provider is disabled. */
  readonly leavesName: boolean;
  /** Agents and fallbacks name a model by its id, which a new name does not change. */
  readonly leavesId: boolean;
}

/** A model as it was called. */
interface ModelAsCalled {
  readonly tenantId: string;
  readonly id: number;
  readonly modelName: string;
  readonly connection: { readonly address: string };
}

/** The fields that identify a model. */
export type ModelIdentity = Pick<Model, 'id' | 'modelName' | 'category'>;

/** Permissions whose owners see every model of the tenant. */
const ADMINISTRATING = ['system:model:add', 'system:model:edit', 'system:model:remove'];

/** The tenant and the API key that limit which models are read. */
type KeyOwner = Pick<Caller, 'tenantId' | 'apiKey'>;

/** The model rows. Plain keys go in and come out here and nowhere else; the column holds what the vault made of them. */
@Injectable()
export class ModelRepository {
  readonly models: TenantScoped<Model>;
  private readonly prices: TenantScoped<ModelPrice>;

  constructor(
    private readonly database: Database,
    private readonly vault: CredentialVault,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.models = new TenantScoped(database, Model, msg`The model`);
    this.prices = new TenantScoped(database, ModelPrice, msg`The price`);
  }

  /** The models, newest first: all for administrators of models, for others those that they may use. */
  async page(caller: Caller, query: ModelListQuery): Promise<Page<Model>> {
    const { modelDescribe } = query;
    return this.models.pageAtOnce(
      caller.tenantId,
      query,
      {
        ...filter(query),
        ...(mayAny(caller, ADMINISTRATING) ? within(caller) : grantedTo(caller, 'model', 'use')),
        ...(modelDescribe && { modelDescribe: containing(modelDescribe) }),
      },
      { id: 'DESC' },
    );
  }

  /** Models that the caller may choose: shown ones of the given providers, oldest first, because the first is the default. */
  async pageShown(
    caller: Caller,
    query: ModelEntriesQuery,
    providerCodes: readonly string[],
  ): Promise<Page<Model>> {
    const where = {
      ...filter(query),
      ...grantedTo(caller, 'model', 'use'),
      modelShow: Not('N'),
      providerCode: In([...providerCodes]),
    };
    return this.models.pageAtOnce(caller.tenantId, query, where, { id: 'ASC' });
  }

  async get(tenantId: string, id: number): Promise<Model> {
    return this.models.get(tenantId, id);
  }

  /**
   * The model, locked until the transaction ends, and with it those that it is to name, all in the order in which `remove`
   * locks them.
   */
  async lock(tenantId: string, id: number, named: readonly number[] = []): Promise<Model> {
    if (named.length > 0) await this.database.query(LOCK, [tenantId, [id, ...named]]);
    return this.models.lock(tenantId, id);
  }

  /** The existing models among the ids, locked against deletion until the transaction ends. */
  async keep(tenantId: string, ids: readonly number[]): Promise<Model[]> {
    return this.models.rows.find({
      where: { tenantId, id: In([...ids]) },
      order: { id: 'ASC' },
      lock: { mode: 'for_key_share' },
    });
  }

  async withIds(tenantId: string, ids: readonly number[]): Promise<Model[]> {
    return this.models.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  /** All models with the name, by id: of each category, the first is the one that is called by that name. */
  async named(tenantId: string, modelName: string): Promise<Model[]> {
    return this.models.find(tenantId, { modelName }, { id: 'ASC' });
  }

  /** The shown models of the category, oldest first. */
  async idsShown(
    tenantId: string,
    category: string,
    providerCodes: readonly string[],
  ): Promise<number[]> {
    const offered = { category, modelShow: Not('N'), providerCode: In([...providerCodes]) };
    const models = await this.models.rows.find({
      select: { id: true },
      where: { ...offered, tenantId },
      order: { id: 'ASC' },
      take: MAX_CHOICES,
    });
    return models.map(({ id }) => id);
  }

  /** The first model of the category that the caller may use, also one that is not shown. */
  async first(
    caller: Caller,
    category: string,
    providerCodes: readonly string[],
  ): Promise<Model | null> {
    const where = {
      category,
      providerCode: In([...providerCodes]),
      ...grantedTo(caller, 'model', 'use'),
    };
    return this.models.findOne(caller.tenantId, where, { id: 'ASC' });
  }

  /** The models of the code that the key of the caller may use, newest first. */
  async ofProvider(caller: Caller, providerCode: string): Promise<Model[]> {
    const where = { ...within(caller), providerCode };
    return this.models.find(caller.tenantId, where, { id: 'DESC' });
  }

  async ofProviders(tenantId: string, providerCodes: readonly string[]): Promise<Model[]> {
    return this.models.find(tenantId, { providerCode: In([...providerCodes]) }, { id: 'ASC' });
  }

  async idsOfProvider(tenantId: string, providerCode: string): Promise<number[]> {
    const models = await this.models.find(tenantId, { providerCode }, { id: 'ASC' });
    return models.map((model) => model.id);
  }

  async insert(tenantId: string, values: ModelValues, apiKey: string): Promise<number> {
    // The id is part of what the vault binds the key to, so it is drawn before the row is written.
    const [row] = await this.database.query<{ id: number }>(
      "SELECT nextval(pg_get_serial_sequence('model', 'id')) AS id",
    );
    if (!row) throw new Error('The sequence of model ids gave no number.');
    const { id } = row;
    const credential = apiKey === '' ? null : this.vault.seal('model', tenantId, id, apiKey);
    await this.models.rows.insert({ ...values, id, tenantId, credential });
    return id;
  }

  /** Changes the given columns, and the key unless it is empty. */
  async update(
    tenantId: string,
    id: number,
    change: ModelValues & Partial<Pick<Model, 'findings'>>,
    apiKey: string,
  ): Promise<void> {
    const credential = apiKey === '' ? undefined : this.vault.seal('model', tenantId, id, apiKey);
    await this.models.update(tenantId, id, { ...change, credential });
  }

  /** Gives all the models the same key, each sealed separately. */
  async setKeys(tenantId: string, ids: readonly number[], apiKey: string): Promise<void> {
    await this.database.query(
      `UPDATE model SET credential = sealed.credential, update_time = now()
         FROM unnest($2::bigint[], $3::text[]) AS sealed (id, credential)
        WHERE model.tenant_id = $1 AND model.id = sealed.id`,
      [tenantId, ids, ids.map((id) => this.vault.seal('model', tenantId, id, apiKey))],
    );
  }

  /** The versions of the model's prices, the latest first, of many the latest. */
  async priceVersions(tenantId: string, modelId: number): Promise<ModelPrice[]> {
    return this.prices.choices(tenantId, { modelId }, { id: 'DESC' });
  }

  /** Begins a new version of the record's current prices. */
  async beginPrices({ tenantId, userId }: Caller, id: number): Promise<void> {
    const { CURRENCY } = this.config;
    await this.database.query(BEGIN_PRICES, [tenantId, id, userId, CURRENCY]);
  }

  /** Returns false when the model is gone, or has a value already. */
  async rememberToolSupport(
    tenantId: string,
    id: number,
    supportsTools: boolean,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE model SET supports_tools = $3, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND supports_tools IS NULL RETURNING id`,
      [tenantId, id, supportsTools],
    );
    return rows.length > 0;
  }

  /** Returns false when the model is gone or has changed, or has all of the findings already. */
  async addFindings(
    { tenantId, id, modelName, connection }: ModelAsCalled,
    findings: Readonly<Record<string, string | number>>,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE model SET findings = findings || $3::jsonb
        WHERE tenant_id = $1 AND id = $2 AND model_name = $4
          AND coalesce(nullif(api_host, ''), $5) = $5 AND NOT findings @> $3::jsonb
       RETURNING id`,
      [tenantId, id, JSON.stringify(findings), modelName, connection.address],
    );
    return rows.length > 0;
  }

  /** The model's key, or undefined when it has none. UnreadableCredentialError when it cannot be decrypted. */
  keyOf(model: Model): string | undefined {
    if (model.credential === null) return undefined;
    return this.vault.open('model', model.tenantId, model.id, model.credential);
  }

  /** Counts what uses the models as they were, by their ids and by the names that no other model answers to. */
  async countLost(
    tenantId: string,
    models: readonly ModelIdentity[],
    { leavesName, leavesId }: Loss,
  ): Promise<LostUses> {
    const ids = models.map(({ id }) => id);
    const names = new Map<string, string[]>([
      ['vector', []],
      ['rerank', []],
      ['chat', []],
    ]);
    for (const { modelName, category } of models) {
      const named = await this.named(tenantId, modelName);
      const alike = named.filter(
        (one) => storedCategory(one.category) === storedCategory(category),
      );
      const answering = leavesName ? alike.find(({ id }) => !ids.includes(id)) : alike[0];
      const isLost = answering === undefined || ids.includes(answering.id);
      if (isLost) names.get(storedCategory(category))?.push(modelName);
    }
    const [row] = await this.database.query<LostUses>(COUNT_LOST, [
      ...[tenantId, ids, leavesId ? ids : []],
      ...names.values(),
    ]);
    return row ?? { knowledgeBases: 0, agents: 0, apiKeys: 0, fallbacks: 0 };
  }

  /**
   * The models leave the lists of the others, too. They are locked first: who is adding one of them to a list has committed
   * by then, or finds it gone.
   */
  async remove(tenantId: string, ids: readonly number[]): Promise<void> {
    await this.database.query(LOCK_WITH_NAMING, [tenantId, ids]);
    await this.database.query(LEAVE_LISTS, [tenantId, ids]);
    await this.models.remove(tenantId, ids);
  }
}

/** Knowledge bases name a model by its name; clients with a key that is limited to the model do so, too. */
const COUNT_LOST = `
  SELECT (SELECT count(*) FROM agent WHERE tenant_id = $1 AND model_id = ANY ($3::bigint[])) AS agents,
         (SELECT count(*) FROM knowledge_base
           WHERE tenant_id = $1
             AND (embedding_model = ANY ($4) OR (enable_rerank = 1 AND rerank_model = ANY ($5))
                  OR (enable_ocr = 1 AND ocr_model = ANY ($6)) OR context_model = ANY ($6))) AS "knowledgeBases",
         (SELECT count(*) FROM api_key
           WHERE tenant_id = $1 AND revoked_time IS NULL AND (expire_time IS NULL OR expire_time > now())
             AND EXISTS (SELECT FROM unnest($2::bigint[]) AS lost (id)
                          WHERE model_ids @> to_jsonb(lost.id))) AS "apiKeys",
         (SELECT count(*) FROM model
           WHERE tenant_id = $1 AND fallback_ids && $3::bigint[] AND NOT id = ANY ($3::bigint[])) AS fallbacks`;

/** Locks in a fixed order prevent deadlocks. */
const LOCK = `
  SELECT id FROM model WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR UPDATE`;

const LOCK_WITH_NAMING = `
  SELECT id FROM model
   WHERE tenant_id = $1 AND (id = ANY ($2::bigint[]) OR fallback_ids && $2::bigint[])
   ORDER BY id FOR UPDATE`;

/** Includes lists that changed while the locks were awaited. */
const LEAVE_LISTS = `
  UPDATE model SET update_time = now(), fallback_ids = ARRAY(
           SELECT fallback FROM unnest(fallback_ids) WITH ORDINALITY AS named (fallback, place)
            WHERE NOT fallback = ANY ($2::bigint[]) ORDER BY place)
   WHERE tenant_id = $1 AND fallback_ids && $2::bigint[]`;

const PRICE_COLUMNS = PRICE_FIELDS.map(columnName).join(', ');
/** The currency of the installation is stored as null: limits count that alone. */
const PRICE_VALUES = PRICE_COLUMNS.replace('currency', 'nullif(currency, $4)');

const BEGIN_PRICES = `
  WITH version AS (
    INSERT INTO model_price (tenant_id, model_id, model_name, ${PRICE_COLUMNS}, create_by)
    SELECT tenant_id, id, model_name, ${PRICE_VALUES}, $3
      FROM model
     WHERE tenant_id = $1 AND id = $2 AND coalesce(${AMOUNTS.map(columnName).join(', ')}) IS NOT NULL
    RETURNING id)
  UPDATE model SET price_version = (SELECT id FROM version) WHERE tenant_id = $1 AND id = $2`;

/** The models that the API key of the caller is limited to. */
function within(caller: KeyOwner): FindOptionsWhere<Model> {
  const limit = idsOfKey(caller, 'models');
  return limit ? { id: In(limit) } : {};
}

function filter(query: Partial<ModelListQuery>): FindOptionsWhere<Model> {
  const { modelName, providerCode } = query;
  const category = query.category?.trim();
  return {
    ...(category && { category: storedCategory(category) }),
    ...(modelName && { modelName: containing(modelName) }),
    ...(providerCode && { providerCode: containing(providerCode) }),
  };
}
