import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { TenantRevision } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { ChatAdapterRegistry, ProviderService } from '../provider/index.js';
import type { ChatAdapter, ModelConnection } from '../provider/index.js';
import type { Model } from './model.entity.js';
import { ModelNotFoundError, NoChatModelError, WrongCategoryError } from './model.errors.js';
import { ModelRepository } from './model.repository.js';
import { labelOf } from './model.view.js';

/** A model that can be called: its facts and how to reach it. Facts that nobody has said are undefined. */
export interface ResolvedModel {
  readonly id: number;
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
}

export interface ResolvedChatModel extends ResolvedModel {
  readonly adapter: ChatAdapter;
}

type Asker = Pick<Caller, 'tenantId' | 'revision'>;

interface TenantModels {
  readonly revision: number;
  readonly byName: Map<string, Promise<ResolvedChatModel>>;
}

const CACHED_TENANTS = 1_000;
const DEFAULT_MODEL = '';

/** Turns what a caller names into a model that can be called: record, adapter, address and key. */
@Injectable()
export class ModelResolver {
  private readonly tenants = new LRUCache<string, TenantModels>({ max: CACHED_TENANTS });

  constructor(
    private readonly models: ModelRepository,
    private readonly providers: ProviderService,
    private readonly adapters: ChatAdapterRegistry,
    private readonly revision: TenantRevision,
  ) {}

  /**
   * The chat model of the name or, without one, the first that end users may choose. What an earlier call found is used
   * again as long as the caller's revision is the one it was read at.
   */
  resolveChat(caller: Asker, modelName: string | undefined): Promise<ResolvedChatModel> {
    const name = modelName?.trim() ?? DEFAULT_MODEL;
    const models = this.modelsOf(caller);
    const known = models?.byName.get(name);
    if (known) return known;
    const loading = this.load(caller, name, models?.byName);
    models?.byName.set(name, loading);
    return loading;
  }

  /** The model with the id, of any category, for a test of its connection. */
  async resolveForTest(caller: Asker, id: number): Promise<ResolvedModel> {
    return this.resolved(await this.models.get(caller.tenantId, id));
  }

  /** The tenant's cache at the caller's revision; undefined for a caller who began before the newest one. */
  private modelsOf({ tenantId, revision }: Asker): TenantModels | undefined {
    const cached = this.tenants.get(tenantId);
    if (cached?.revision === revision) return cached;
    if (cached && cached.revision > revision) return undefined;
    const fresh = { revision, byName: new Map<string, Promise<ResolvedChatModel>>() };
    this.tenants.set(tenantId, fresh);
    return fresh;
  }

  /** Takes itself out of the cache again when it fails, and when a change came while it read. */
  private async load(
    { tenantId, revision }: Asker,
    name: string,
    cache: Map<string, Promise<ResolvedChatModel>> | undefined,
  ): Promise<ResolvedChatModel> {
    try {
      const model = await this.find(tenantId, name);
      if (model.category !== 'chat') {
        throw new WrongCategoryError(model.modelName, model.category, 'chat');
      }
      const resolved = {
        ...(await this.resolved(model)),
        adapter: this.adapters.get(model.providerCode),
      };
      if ((await this.revision.current(tenantId)) !== revision) cache?.delete(name);
      return resolved;
    } catch (error) {
      cache?.delete(name);
      throw error;
    }
  }

  private async find(tenantId: string, name: string): Promise<Model> {
    if (name !== DEFAULT_MODEL) {
      const model = await this.models.firstNamed(tenantId, name);
      if (!model) throw new ModelNotFoundError(name);
      return model;
    }
    const codes = await this.providers.enabledCodes(tenantId);
    const model = await this.models.firstShown(tenantId, 'chat', codes);
    if (!model) throw new NoChatModelError();
    return model;
  }

  private async resolved(model: Model): Promise<ResolvedModel> {
    const { id, tenantId, modelName, category, providerCode } = model;
    const provider = await this.providers.requireEnabled(tenantId, providerCode);
    return {
      id,
      modelName,
      label: labelOf(model),
      category,
      providerCode,
      connection: {
        address: model.apiHost ?? '',
        credential: this.models.keyOf(model),
        protocolVersion: provider.protocolVersion || undefined,
      },
      modelDimension: model.modelDimension ?? undefined,
      contextWindow: model.contextWindow ?? undefined,
      maxOutput: model.maxOutput ?? undefined,
      supportsTools: model.supportsTools ?? undefined,
      supportsVision: model.supportsVision ?? undefined,
    };
  }
}
