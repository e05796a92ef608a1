import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Injectable, Logger } from '@nestjs/common';
import { isWithinKey, requireWithinKey, TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Grants, isAmong } from '../grant/index.js';
import type { Grantee } from '../grant/index.js';
import { ProviderService } from '../provider/index.js';
import type {
  ChatAdapter,
  EmbeddingAdapter,
  Findings,
  MediaAdapter,
  ModelConnection,
  RerankAdapter,
} from '../provider/index.js';
import { DomainError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { HostIdentity, ModelKeyRepository, ModelRepository } from './model.repository.js';
import { ModelAdapters } from './model.adapters.js';
import {
  ModelNotFoundError,
  ModelNotGrantedError,
  ModelOutsideKeyError,
  NoChatModelError,
  NoModelChosenError,
  WrongCategoryError,
} from './model.errors.js';
import { hasFallbacks, labelOf, storedCategory } from './model.entity.js';
import type { CalledCategory, MediaCategory, Model, ModelKey } from './model.entity.js';
import { LimitRepository } from '../usage/index.js';
import type { SetLimit } from '../usage/index.js';

/** The tenant and revision of cached data. */
type CacheOwner = Pick<Caller, 'tenantId' | 'revision'>;

/** For whom a model is called that a record names: an API key can be limited to some. */
type ModelCaller = CacheOwner & Pick<Caller, 'apiKey'>;

/** The caller that chooses a model, and needs a grant of it. */
type ChoosingCaller = ModelCaller & Grantee;

interface TenantEntries<T> {
  readonly revision: number;
  readonly byKey: Map<string, Promise<T>>;
}

const CACHED_TENANTS = 1_000;

/**
 * Caches reads of a tenant as long as the caller's revision is the one they were read at. Every change of a
 * provider or model begins a new revision, so nothing here outlives the record it came from.
 */
class RevisionCache<T> {
  private readonly tenants = new LRUCache<string, TenantEntries<T>>({ max: CACHED_TENANTS });

  constructor(private readonly revision: TenantRevision) {}

  /** Returns the cached read for the key, or starts it; concurrent calls share one read. */
  get(owner: CacheOwner, key: string, read: () => Promise<T>): Promise<T> {
    const byKey = this.entriesOf(owner);
    const cached = byKey?.get(key);
    if (cached) return cached;
    const reading = this.read(owner, read, () => byKey?.delete(key));
    byKey?.set(key, reading);
    return reading;
  }

  /** The tenant's entries at the caller's revision; undefined for a caller with an older revision. */
  private entriesOf({ tenantId, revision }: CacheOwner): Map<string, Promise<T>> | undefined {
    const cached = this.tenants.get(tenantId);
    if (cached?.revision === revision) return cached.byKey;
    if (cached && cached.revision > revision) return undefined;
    const byKey = new Map<string, Promise<T>>();
    this.tenants.set(tenantId, { revision, byKey });
    return byKey;
  }

  /** Forgets the read when it fails, or when a change came meanwhile. */
  private async read(
    { tenantId, revision }: CacheOwner,
    read: () => Promise<T>,
    forget: () => void,
  ): Promise<T> {
    try {
      const value = await read();
      if ((await this.revision.current(tenantId)) !== revision) forget();
      return value;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/** A model that can be called: its facts and how to reach it. Unknown facts are undefined. */
export interface ResolvedModel {
  readonly id: number;
  readonly tenantId: string;
  /** The tenant's revision for which it was resolved. */
  readonly revision: number;
  readonly modelName: string;
  readonly label: string;
  readonly category: string;
  readonly providerCode: string;
  readonly connection: ModelConnection;
  readonly modelDimension?: number;
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  readonly supportsTools?: boolean;
  readonly supportsVision?: boolean;
  /** Requests below /v1 are refused where the model does not know one of their parameters. */
  readonly strictParameters?: boolean;
  /** Prices per million tokens, in the operator's currency. */
  readonly inputPrice?: number;
  readonly outputPrice?: number;
  /** The version of all prices of the model, for the usage ledger; undefined without any. */
  readonly priceVersion?: number;
  /** Findings about its service at the time it was resolved; undefined without any. */
  readonly findings?: Findings | undefined;
  /** The limits that calls of it ask, as far as the caller has them; undefined without any. */
  readonly limits?: readonly SetLimit[];
  /** The further key that the connection has; undefined for that of the record. */
  readonly keyId?: number;
  /** Changes with the key, without revealing it. */
  readonly keyVersion?: string;
  readonly keyWeight?: number;
  /** The model with each of its keys; undefined where it has only one. */
  readonly variants?: readonly ResolvedModel[];
  /** Models that are called when it fails; undefined without any. */
  readonly fallbackIds?: readonly number[];
}

export interface ResolvedChatModel extends ResolvedModel {
  readonly adapter: ChatAdapter;
}

export interface ResolvedEmbeddingModel extends ResolvedModel {
  readonly adapter: EmbeddingAdapter;
}

export interface ResolvedRerankModel extends ResolvedModel {
  readonly adapter: RerankAdapter;
}

export interface ResolvedMediaModel<
  Category extends MediaCategory = MediaCategory,
> extends ResolvedModel {
  readonly category: Category;
  readonly adapter: MediaAdapter;
}

/**
 * Turns what a caller names into a model that can be called: record, adapter, address and key. What an earlier call
 * found is used again as long as the caller's revision is the one it was read at; disabling the provider, as any other
 * change, begins a new one.
 */
@Injectable()
export class ModelResolver {
  private readonly logger = new Logger(ModelResolver.name);
  private readonly chats: RevisionCache<ResolvedChatModel>;
  private readonly embeddings: RevisionCache<ResolvedEmbeddingModel>;
  private readonly reranks: RevisionCache<ResolvedRerankModel>;
  private readonly media: RevisionCache<ResolvedMediaModel>;
  private readonly limits: RevisionCache<readonly SetLimit[]>;
  private readonly grants: RevisionCache<ReadonlyMap<number, ReadonlySet<string>>>;
  private readonly shownChats: RevisionCache<readonly number[]>;

  constructor(
    private readonly models: ModelRepository,
    private readonly keys: ModelKeyRepository,
    private readonly providers: ProviderService,
    private readonly adapters: ModelAdapters,
    private readonly revision: TenantRevision,
    private readonly limitRecords: LimitRepository,
    private readonly grantRecords: Grants,
    private readonly hostIdentity: HostIdentity,
  ) {
    this.chats = new RevisionCache(revision);
    this.embeddings = new RevisionCache(revision);
    this.reranks = new RevisionCache(revision);
    this.media = new RevisionCache(revision);
    this.limits = new RevisionCache(revision);
    this.grants = new RevisionCache(revision);
    this.shownChats = new RevisionCache(revision);
  }

  /** The chat model of the name or, without one, the first that end users may choose. The caller needs a grant of it. */
  async resolveChat(
    caller: ChoosingCaller,
    modelName: string | undefined,
  ): Promise<ResolvedChatModel> {
    const name = modelName?.trim() ?? '';
    if (name === '') return this.resolveChatById(caller, await this.firstChat(caller));
    return this.granted(caller, await this.resolveChatOf(caller, name));
  }

  /** The chat model that a record names, such as the settings of a knowledge base: its use needs no grant. */
  resolveChatOf(caller: ModelCaller, modelName: string): Promise<ResolvedChatModel> {
    const name = modelName.trim();
    return this.allowed(
      caller,
      this.chats.get(caller, `name ${name}`, async () =>
        this.asChat(caller, await this.named(caller, name, ['chat'])),
      ),
    );
  }

  /** The chat model with the id. Fails as not found, or because the model is of another category. */
  resolveChatById(caller: ModelCaller, id: number): Promise<ResolvedChatModel> {
    return this.allowed(
      caller,
      this.chats.get(caller, `id ${id}`, async () => {
        return this.asChat(caller, await this.withId(caller, id, 'chat'));
      }),
    );
  }

  /**
   * The same model as it is now. Work that makes several calls asks before each, so that a new key, a changed record and
   * a disabled provider count from the next call on. Costs one small query while nothing has changed. Fails as the other
   * methods do when the model can no longer be called.
   */
  async current<T extends ResolvedModel>(model: T): Promise<T> {
    const { tenantId, id, category } = model;
    const owner = { tenantId, revision: await this.revision.current(tenantId) };
    if (owner.revision === model.revision) return model;
    // The category decides which kind it is, as it has decided for the one given.
    return (await this.again(owner, id, category)) as T;
  }

  /** A fallback of the model, as it is stored now; undefined for one that cannot be called. Nothing follows its own fallbacks. */
  async fallbackOf<T extends ResolvedModel>(requested: T, id: number): Promise<T | undefined> {
    const { tenantId, category } = requested;
    const owner = { tenantId, revision: await this.revision.current(tenantId) };
    return (await this.callable(owner, id, category)) as T | undefined;
  }

  /** The model with each of its keys, as calls choose from them. None for a model that cannot be called. */
  async keysOf(caller: ModelCaller, id: number): Promise<readonly ResolvedModel[]> {
    requireWithinKey(caller, 'models', [id], msg`The model`);
    const model = await this.models.get(caller.tenantId, id);
    const category = storedCategory(model.category);
    if (!hasFallbacks(category)) return [];
    const resolved = await this.callable(caller, id, category);
    return resolved ? (resolved.variants ?? [resolved]) : [];
  }

  /** The embedding model (category vector) of the name. The caller needs a grant of it. */
  async resolveEmbedding(
    caller: ChoosingCaller,
    modelName: string,
  ): Promise<ResolvedEmbeddingModel> {
    return this.granted(caller, await this.resolveEmbeddingOf(caller, modelName));
  }

  /** The embedding model that a record names: its use needs no grant. */
  resolveEmbeddingOf(caller: ModelCaller, modelName: string): Promise<ResolvedEmbeddingModel> {
    const name = modelName.trim();
    return this.allowed(
      caller,
      this.embeddings.get(caller, `name ${name}`, async () =>
        this.asEmbedding(caller, await this.named(caller, name, ['vector'])),
      ),
    );
  }

  /** The name of the first embedding model of an enabled provider that the caller may use, if there is one. */
  async firstEmbedding(caller: Caller): Promise<string | undefined> {
    const codes = await this.providers.enabledCodes(caller.tenantId);
    return (await this.models.first(caller, 'vector', codes))?.modelName;
  }

  /** The rerank model of the name. The caller needs a grant of it. */
  async resolveRerank(caller: ChoosingCaller, modelName: string): Promise<ResolvedRerankModel> {
    return this.granted(caller, await this.resolveRerankOf(caller, modelName));
  }

  /** The rerank model that a record names: its use needs no grant. */
  resolveRerankOf(caller: ModelCaller, modelName: string): Promise<ResolvedRerankModel> {
    const name = modelName.trim();
    return this.allowed(
      caller,
      this.reranks.get(caller, `name ${name}`, async () =>
        this.asRerank(caller, await this.named(caller, name, ['rerank'])),
      ),
    );
  }

  /** The model of the name that makes or reads media of one of the categories. The caller needs a grant of it. */
  async resolveMedia<Category extends MediaCategory>(
    caller: ChoosingCaller,
    modelName: string,
    categories: readonly Category[],
  ): Promise<ResolvedMediaModel<Category>> {
    const name = modelName.trim();
    const resolving = this.media.get(caller, `${categories.join()} ${name}`, async () => {
      const model = await this.named(caller, name, categories);
      const resolved = await this.resolved(caller, model);
      const adapter = this.adapters.media.get(model.providerCode);
      return { ...resolved, category: model.category as Category, adapter };
    });
    // The cache for these categories holds only models of them.
    const model = await this.allowed(caller, resolving as Promise<ResolvedMediaModel<Category>>);
    return this.granted(caller, model);
  }

  /** Whether the caller may choose the model; no statement while nothing of the tenant has changed. */
  async mayUse(caller: ChoosingCaller, id: number): Promise<boolean> {
    return (
      isWithinKey(caller, 'models', id) && isAmong((await this.usersOf(caller)).get(id), caller)
    );
  }

  /** The model with the id, of any category, for a test of its connection. */
  async resolveForTest(caller: ModelCaller, id: number): Promise<ResolvedModel> {
    requireWithinKey(caller, 'models', [id], msg`The model`);
    return this.resolved(caller, await this.models.get(caller.tenantId, id));
  }

  /** The cache is of all callers: what the key of this one is limited to is asked each time. */
  private async allowed<T extends ResolvedModel>(
    caller: ModelCaller,
    resolving: Promise<T>,
  ): Promise<T> {
    const model = await resolving;
    if (isWithinKey(caller, 'models', model.id)) return model;
    throw new ModelOutsideKeyError(model.modelName);
  }

  /** The model; ModelNotGrantedError unless the caller may choose it as of their revision. */
  async granted<T extends ResolvedModel>(caller: ChoosingCaller, model: T): Promise<T> {
    if (isAmong((await this.usersOf(caller)).get(model.id), caller)) return model;
    throw new ModelNotGrantedError(model.modelName);
  }

  /** The subjects that may use each model. */
  private usersOf(owner: CacheOwner): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const { tenantId } = owner;
    return this.grants.get(owner, 'all', () =>
      this.grantRecords.subjectsByRecord(tenantId, 'model'),
    );
  }

  private async callable(
    owner: CacheOwner,
    id: number,
    category: string,
  ): Promise<ResolvedModel | undefined> {
    try {
      return await this.again(owner, id, category);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { tenantId } = owner;
      this.logger.warn({ msg: 'Model cannot be called', tenantId, model: id, err: error });
      return undefined;
    }
  }

  private again(owner: CacheOwner, id: number, category: string): Promise<ResolvedModel> {
    switch (category) {
      case 'chat':
        return this.resolveChatById(owner, id);
      case 'vector':
        return this.embeddings.get(owner, `id ${id}`, async () =>
          this.asEmbedding(owner, await this.withId(owner, id, 'vector')),
        );
      case 'rerank':
        return this.reranks.get(owner, `id ${id}`, async () =>
          this.asRerank(owner, await this.withId(owner, id, 'rerank')),
        );
      default:
        throw new Error(`Models of category ${category} are called once.`);
    }
  }

  private async withId(
    { tenantId }: CacheOwner,
    id: number,
    wanted: CalledCategory,
  ): Promise<Model> {
    const model = await this.models.get(tenantId, id);
    if (storedCategory(model.category) === wanted) return model;
    throw new WrongCategoryError(model.modelName, model.category, [wanted]);
  }

  /** The model with the name, of the first of the categories that has one: one name may exist in each category. */
  private async named(
    { tenantId }: CacheOwner,
    name: string,
    wanted: readonly CalledCategory[],
  ): Promise<Model> {
    if (name === '') throw new NoModelChosenError(wanted);
    const models = await this.models.named(tenantId, name);
    const model = models.find(({ category }) =>
      wanted.some((one) => one === storedCategory(category)),
    );
    if (model) return model;
    const [other] = models;
    throw other
      ? new WrongCategoryError(name, other.category, wanted)
      : new ModelNotFoundError(name, wanted);
  }

  /** The first shown chat model of an enabled provider that the caller may use. */
  private async firstChat(caller: ChoosingCaller): Promise<number> {
    const { tenantId } = caller;
    const ids = await this.shownChats.get(caller, 'all', async () => {
      const codes = await this.providers.enabledCodes(tenantId);
      return this.models.idsShown(tenantId, 'chat', codes);
    });
    const users = await this.usersOf(caller);
    const id = ids.find(
      (one) => isWithinKey(caller, 'models', one) && isAmong(users.get(one), caller),
    );
    if (id === undefined) throw new NoChatModelError();
    return id;
  }

  private async asChat(owner: CacheOwner, model: Model): Promise<ResolvedChatModel> {
    const resolved = await this.resolved(owner, model);
    const adapter = this.adapters.chat.get(model.providerCode);
    return this.withAlternatives({ ...resolved, adapter }, model);
  }

  private async asEmbedding(owner: CacheOwner, model: Model): Promise<ResolvedEmbeddingModel> {
    const resolved = await this.resolved(owner, model);
    const adapter = this.adapters.embedding.get(model.providerCode);
    return this.withAlternatives({ ...resolved, adapter }, model);
  }

  private async asRerank(owner: CacheOwner, model: Model): Promise<ResolvedRerankModel> {
    const resolved = await this.resolved(owner, model);
    const adapter = this.adapters.rerank.get(model.providerCode);
    return this.withAlternatives({ ...resolved, adapter }, model);
  }

  /** Adds the keys to choose from and the fallbacks, where the model has any. */
  private async withAlternatives<T extends ResolvedModel>(resolved: T, model: Model): Promise<T> {
    const { tenantId, id, fallbackIds } = model;
    const stored = (await this.keys.of(tenantId, [id])).filter(({ enabled }) => enabled);
    const further = stored.flatMap((key) => this.variantOf(resolved, key));
    const primary = model.credential === null ? [] : [resolved];
    return {
      ...resolved,
      ...(further.length > 0 && { variants: [...primary, ...further] }),
      ...(fallbackIds.length > 0 && { fallbackIds }),
    };
  }

  /** Keys that cannot be decrypted are skipped. */
  private variantOf<T extends ResolvedModel>(resolved: T, key: ModelKey): T[] {
    const { id: keyId, tenantId, weight: keyWeight } = key;
    try {
      const connection = { ...resolved.connection, credential: this.keys.keyOf(key) };
      return [{ ...resolved, connection, keyId, keyWeight, keyVersion: versionOf(key.credential) }];
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      this.logger.warn({ msg: 'Failed to decrypt API key', tenantId, key: keyId });
      return [];
    }
  }

  private async resolved(owner: CacheOwner, model: Model): Promise<ResolvedModel> {
    const { revision } = owner;
    const { id, tenantId, modelName, providerCode } = model;
    const category = storedCategory(model.category);
    const provider = await this.providers.requireEnabled(tenantId, providerCode, modelName);
    const set = await this.limits.get(owner, 'all', () => this.limitRecords.set(tenantId));
    const limits = set.filter(({ scope, modelId }) => scope !== 'model' || (modelId ?? id) === id);
    const findings = Object.entries(model.findings);
    return {
      id,
      tenantId,
      revision,
      modelName,
      label: labelOf(model),
      category,
      providerCode,
      connection: {
        address: model.apiHost || (this.adapters.defaultAddress(category, providerCode) ?? ''),
        credential: this.models.keyOf(model),
        authType: model.authType === 'bearer' ? undefined : model.authType,
        mayUseHost: this.hostIdentity.isAllowed(tenantId) || undefined,
        protocolVersion: provider.protocolVersion || undefined,
      },
      modelDimension: model.modelDimension ?? undefined,
      contextWindow: model.contextWindow ?? undefined,
      maxOutput: model.maxOutput ?? undefined,
      supportsTools: model.supportsTools ?? undefined,
      supportsVision: model.supportsVision ?? undefined,
      strictParameters: model.strictParameters,
      inputPrice: model.inputPrice ?? undefined,
      outputPrice: model.outputPrice ?? undefined,
      priceVersion: model.priceVersion ?? undefined,
      findings: findings.length > 0 ? new Map(findings) : undefined,
      ...(limits.length > 0 && { limits }),
      keyWeight: model.keyWeight,
      keyVersion: model.credential === null ? undefined : versionOf(model.credential),
    };
  }
}

/** The version of a sealed key, which is another text each time. */
function versionOf(sealed: string): string {
  return createHash('sha256').update(sealed).digest('base64url').slice(0, 16);
}
