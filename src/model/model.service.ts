import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InvalidInputError } from '../platform/error/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import {
  checkedCredential,
  defaultAuthType,
  HostIdentityError,
  isCloudAuth,
  ProviderService,
} from '../provider/index.js';
import type { AuthType } from '../provider/index.js';
import {
  mayAny,
  requireUnlimitedKey,
  requireWithinKey,
  TenantRevision,
} from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { Grants } from '../grant/index.js';
import { Answer, OK_MESSAGE } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { allOf, msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { HostIdentity, ModelKeyRepository, ModelRepository } from './model.repository.js';
import { ModelAdapters } from './model.adapters.js';
import { CredentialRequiredError, FallbackError, ModelNotGrantedError } from './model.errors.js';
import type {
  BatchKeyBody,
  CreateModelBody,
  ModelEntriesQuery,
  ModelKeyBody,
  ModelListQuery,
  UpdateModelBody,
} from './model.dto.js';
import { hasFallbacks, storedCategory } from './model.entity.js';
import type { Model, ModelKey } from './model.entity.js';
import type { LostUses, ModelValues, WrittenKey } from './model.repository.js';
import { AMOUNTS, PRICE_FIELDS, PriceVersionView } from '../usage/index.js';
import { toModelEntryView, toModelView } from './model.view.js';
import type { ModelEntryView, ModelView, ProviderOptionView } from './model.view.js';

const LABEL = msg`The model`;

/** Lets the stored key of a model go to another address. */
const MOVE_CREDENTIAL = 'system:model:credential';

/** The fields of a model that depend on each other. */
interface CheckedFields {
  readonly providerCode: string;
  readonly category: string;
  readonly modelDimension?: number | null | undefined;
  readonly apiHost?: string | null | undefined;
}

/** A model as its fallbacks must suit it. */
type ModelWithFallbacks = Pick<CheckedFields, 'category' | 'modelDimension'> &
  Pick<ModelValues, 'fallbackIds' | 'modelName'>;

/** The public facts about a model that can be called. They are null where unknown. */
export type CallableModel = Pick<
  Model,
  | 'modelName'
  | 'modelDescribe'
  | 'providerCode'
  | 'category'
  | 'contextWindow'
  | 'maxOutput'
  | 'supportsTools'
  | 'supportsVision'
  | 'createTime'
>;

/** Model records. Saving one never calls the service it describes. */
@Injectable()
export class ModelService {
  constructor(
    private readonly models: ModelRepository,
    private readonly keys: ModelKeyRepository,
    private readonly providers: ProviderService,
    private readonly adapters: ModelAdapters,
    private readonly database: Database,
    private readonly revision: TenantRevision,
    private readonly audit: AuditLog,
    private readonly grants: Grants,
    private readonly http: OutboundHttp,
    private readonly hostIdentity: HostIdentity,
  ) {
    providers.join((tenantId, codes) => this.lostByProvider(tenantId, codes));
  }

  async list(caller: Caller, query: ModelListQuery): Promise<Page<ModelView>> {
    const page = await this.models.page(caller, query);
    const ids = page.rows.map(({ id }) => id);
    const keys = await this.keys.of(caller.tenantId, ids);
    return page.map((model) => toModelView(model, keys));
  }

  /** The shown models of enabled providers, as `data` and, for other clients, as `rows` and `total`. */
  async entries(
    caller: Caller,
    query: ModelEntriesQuery,
  ): Promise<Answer<readonly ModelEntryView[]>> {
    const { tenantId } = caller;
    const codes = await this.providers.enabledCodes(tenantId);
    const category = query.category?.trim() || 'chat';
    const page = await this.models.pageShown(caller, { ...query, category }, codes);
    const { rows, total } = page.map(toModelEntryView);
    return new Answer(rows, OK_MESSAGE, { rows, total });
  }

  /**
   * The models that can be called by name: of each name the first shown model of an enabled provider, in one of the categories. At most
   * MAX_ROWS.
   */
  async callable(caller: Caller, categories: readonly string[]): Promise<readonly CallableModel[]> {
    const { tenantId } = caller;
    const codes = await this.providers.enabledCodes(tenantId);
    const { rows } = await this.models.pageShown(caller, {}, codes);
    const byName = new Map<string, CallableModel>();
    for (const model of rows) {
      const category = storedCategory(model.category);
      const isWanted = categories.includes(category);
      if (isWanted && !byName.has(model.modelName)) {
        byName.set(model.modelName, { ...model, category });
      }
    }
    return [...byName.values()];
  }

  /** Every code that has an adapter of some kind; those that can chat come first. */
  providerCodes(): ProviderOptionView[] {
    return [...this.adapters.byCode().values()].map(({ code, label, defaultAddress = null }) => ({
      label,
      value: code,
      defaultAddress,
    }));
  }

  async get(caller: Caller, id: number): Promise<ModelView> {
    requireWithinKey(caller, 'models', [id], LABEL);
    return this.view(caller.tenantId, id);
  }

  /** The versions of the prices, the latest first. */
  async priceVersions(caller: Caller, id: number): Promise<PriceVersionView[]> {
    await this.get(caller, id);
    const versions = await this.models.priceVersions(caller.tenantId, id);
    return versions.map((version) => PriceVersionView.of(version));
  }

  async create(caller: Caller, body: CreateModelBody): Promise<Answer<ModelView>> {
    const { tenantId } = caller;
    requireUnlimitedKey(caller, 'models', msg`models`);
    const { authType = defaultAuthType(body.providerCode) } = body;
    const { values, apiKey, keys = [] } = readModel({ ...body, authType }, authType);
    requireWithinKey(caller, 'models', values.fallbackIds ?? [], LABEL);
    return this.database.transaction(async () => {
      await this.check(tenantId, { ...body, ...values });
      const hasKeys = keys.length > 0;
      this.checkIdentity(tenantId, authType, hasKeys || apiKey !== '');
      await this.checkFallbacks(tenantId, { ...body, ...values }, { hasKeys });
      const id = await this.models.insert(tenantId, values, apiKey);
      await this.grants.publish(caller, 'model', id, 'use');
      if (keys.length > 0) await this.keys.replace(tenantId, id, keys);
      if (AMOUNTS.some((price) => typeof values[price] === 'number')) {
        await this.models.beginPrices(caller, id);
      }
      const { providerCode, category, modelName } = body;
      await this.record(caller, 'create', id, { providerCode, category, modelName });
      if (apiKey !== '' || keys.length > 0) await this.record(caller, 'credential-change', id);
      return this.saved(tenantId, id);
    });
  }

  async update(caller: Caller, body: UpdateModelBody): Promise<Answer<ModelView>> {
    const { tenantId } = caller;
    const { id } = body;
    requireWithinKey(caller, 'models', [id, ...(body.fallbackIds ?? [])], LABEL);
    return this.database.transaction(async () => {
      // The row is locked, so that no key is stored between the check of the address and its change.
      const before = await this.models.lock(tenantId, id, body.fallbackIds);
      const current = () => this.get(caller, id);
      await this.models.models.requireRevision(tenantId, id, { expected: body.revision, current });
      const authType = body.authType ?? before.authType;
      const { values, apiKey, keys } = readModel(body, authType);
      const after = { ...before, ...values };
      await this.check(tenantId, after);
      const stored = await this.keys.of(tenantId, [id]);
      const hasKeys = (keys ?? stored).length > 0;
      await this.checkFallbacks(tenantId, after, { hasKeys, before });
      const [oldHost, newHost] = [before, after].map((model) => this.adapters.destination(model));
      const isMoved = oldHost !== newHost;
      const keepsKeys = keys ? keys.some((key) => key.apiKey === '') : stored.length > 0;
      const isKept = keepsKeys || (before.credential !== null && apiKey === '');
      if (isKept && authType !== before.authType && [authType, before.authType].some(isCloudAuth)) {
        throw new InvalidInputError(
          msg`The stored key was entered for another authType. Enter the apiKey for the new one.`,
        );
      }
      this.checkIdentity(
        tenantId,
        authType,
        hasKeys || apiKey !== '' || before.credential !== null,
      );
      if (isMoved && isKept && !mayAny(caller, [MOVE_CREDENTIAL])) {
        throw new CredentialRequiredError();
      }
      const isOther = SERVICE_FIELDS.some((field) => after[field] !== before[field]);
      const learned = isOther ? { findings: {} } : {};
      await this.models.update(tenantId, id, { ...values, ...learned }, apiKey);
      if (keys) await this.keys.replace(tenantId, id, keys);
      // Recorded calls keep the previous version.
      if (PRICE_FIELDS.some((price) => !isDeepStrictEqual(after[price], before[price]))) {
        await this.models.beginPrices(caller, id);
      }
      await this.record(caller, 'update', id, {
        fields: changedFields(before, values),
        ...(isMoved && { oldHost, newHost }),
      });
      const isChanged = apiKey !== '' || (keys !== undefined && hasChanged(stored, keys));
      if (isChanged) await this.record(caller, 'credential-change', id);
      return this.saved(tenantId, id, await this.lostByChange(tenantId, before, after));
    });
  }

  /** Gives every model of a provider code the same key. */
  async changeKeys(caller: Caller, body: BatchKeyBody): Promise<Answer<null>> {
    const { tenantId } = caller;
    const { providerCode } = body;
    requireUnlimitedKey(caller, 'models', msg`models`);
    const apiKey = readKey(body.apiKey);
    return this.database.transaction(async () => {
      await this.providers.requireEnabled(tenantId, providerCode);
      const ids = await this.models.idsOfProvider(tenantId, providerCode);
      for (const { authType } of await this.models.withIds(tenantId, ids)) {
        checkedCredential(authType, apiKey);
      }
      await this.models.setKeys(tenantId, ids, apiKey);
      for (const id of ids) await this.record(caller, 'credential-change', id);
      await this.revision.increment(tenantId);
      const models = ids.length === 1 ? msg`1 model` : msg`${ids.length} models`;
      return new Answer(null, msg`The API key of ${models} of ${providerCode} was replaced.`);
    });
  }

  /** The message says what used the models and can no longer call them. */
  async remove(caller: Caller, ids: readonly number[]): Promise<Answer<null>> {
    requireWithinKey(caller, 'models', ids, LABEL);
    const { tenantId } = caller;
    return this.database.transaction(async () => {
      const removed = await this.models.withIds(tenantId, ids);
      const loss = { leavesName: true, leavesId: true };
      const lost = await this.models.countLost(tenantId, removed, loss);
      await this.models.remove(tenantId, ids);
      for (const id of ids) await this.record(caller, 'delete', id);
      await this.revision.increment(tenantId);
      return new Answer(null, sentences([OK_MESSAGE, ...lostBy(removed, lost)]));
    });
  }

  /** Users of a changed model that can no longer call it or compare its vectors. */
  private async lostByChange(tenantId: string, before: Model, after: Model): Promise<Message[]> {
    const [was, is] = [before, after].map(({ category }) => storedCategory(category));
    const isNamedOtherwise = before.modelName !== after.modelName || was !== is;
    const isSameKind = isOfSameKind(before, after);
    if (isSameKind && !isNamedOtherwise) return [];
    const lost = await this.models.countLost(tenantId, [before], {
      leavesName: isNamedOtherwise,
      leavesId: !isSameKind,
    });
    if (isNamedOtherwise) return lostBy([before], lost);
    const { knowledgeBases } = lost;
    const resized: Message[] = [];
    if (knowledgeBases === 1) {
      resized.push(
        msg`1 knowledge base uses ${before.modelName}, whose vectors have another dimension now. Parse its documents again.`,
      );
    } else if (knowledgeBases > 1) {
      resized.push(
        msg`${knowledgeBases} knowledge bases use ${before.modelName}, whose vectors have another dimension now. Parse their documents again.`,
      );
    }
    return [...resized, ...alsoAffected({ ...NO_USES, fallbacks: lost.fallbacks })];
  }

  /** Users of models whose provider codes were disabled, deleted or renamed. */
  private async lostByProvider(
    tenantId: string,
    providerCodes: readonly string[],
  ): Promise<Message[]> {
    const models = await this.models.ofProviders(tenantId, providerCodes);
    const loss = { leavesName: false, leavesId: true };
    const parts = usesOf(await this.models.countLost(tenantId, models, loss));
    return parts.length === 0 ? [] : [msg`Affected: ${allOf(parts)}.`];
  }

  /**
   * Whether the tenant has a model of the name and category that the caller and their key may use; whether it can be called is
   * another question.
   */
  async exists(caller: Caller, modelName: string, category: string): Promise<boolean> {
    const named = await this.models.named(caller.tenantId, modelName);
    const called = named.find((model) => storedCategory(model.category) === category);
    return called !== undefined && this.mayUse(caller, called.id);
  }

  /** Throws ModelNotGrantedError unless the caller may use the model; NotFoundError for none. */
  async requireMayUse(caller: Caller, id: number): Promise<void> {
    const { modelName } = await this.get(caller, id);
    if (!(await this.mayUse(caller, id))) throw new ModelNotGrantedError(modelName);
  }

  private async mayUse(caller: Caller, id: number): Promise<boolean> {
    return (await this.grants.reachable(caller, 'model', 'use', [id])).has(id);
  }

  /** Whether the chat model of the name is known to see images. */
  async seesImages(tenantId: string, modelName: string): Promise<boolean> {
    const named = await this.models.named(tenantId, modelName);
    const chat = named.find((model) => storedCategory(model.category) === 'chat');
    return chat?.supportsVision === true;
  }

  /**
   * Records whether a call has shown that the model calls tools. A value set meanwhile is kept. Callers that resolve the
   * model from now on see it.
   */
  async rememberToolSupport(caller: Caller, id: number, supportsTools: boolean): Promise<void> {
    const { tenantId } = caller;
    await this.database.transaction(async () => {
      if (!(await this.models.rememberToolSupport(tenantId, id, supportsTools))) return;
      const detail = { fields: ['supportsTools'], tried: true };
      await this.record(caller, 'update', id, detail);
      await this.revision.increment(tenantId);
    });
  }

  /** Checks only the record and calls no other server. Throws the DomainError that says what to enter differently. */
  async check(tenantId: string, model: CheckedFields): Promise<void> {
    const { providerCode, category, modelDimension } = model;
    await this.providers.requireEnabled(tenantId, providerCode);
    if (category === 'vector' && !modelDimension) {
      throw new InvalidInputError(
        msg`modelDimension is required for a model of category vector: enter how many dimensions it really answers.`,
      );
    }
    const apiHost = model.apiHost ?? '';
    if (apiHost !== '') this.checkAddress(apiHost, providerCode, category);
    else if (this.adapters.defaultAddress(storedCategory(category), providerCode) === undefined) {
      throw new InvalidInputError(
        msg`apiHost must not be empty. Enter the address of the service, for example https://api.example.com/v1.`,
      );
    }
  }

  /**
   * The fallbacks stay until the transaction ends. Of a stored model only what changes is checked: calls pass over fallbacks
   * that have changed meanwhile, and they are no reason to refuse a change of something else.
   */
  private async checkFallbacks(
    tenantId: string,
    model: ModelWithFallbacks & { id?: number },
    { hasKeys, before }: { readonly hasKeys: boolean; readonly before?: Model },
  ): Promise<void> {
    const { fallbackIds = [], modelName, modelDimension, id: ownId } = model;
    const category = storedCategory(model.category);
    if (fallbackIds.length === 0 && !hasKeys) return;
    if (!hasFallbacks(category)) throw FallbackError.media(category);
    const previousIds = before && isOfSameKind(before, model) ? before.fallbackIds : [];
    const checked = fallbackIds.filter((id) => !previousIds.includes(id));
    if (checked.length === 0) return;
    if (ownId !== undefined && checked.includes(ownId)) throw FallbackError.itself();
    const fallbacks = await this.models.keep(tenantId, checked);
    for (const id of checked) {
      const fallback = fallbacks.find((one) => one.id === id);
      if (!fallback) throw FallbackError.notFound(id);
      if (storedCategory(fallback.category) !== category) {
        throw FallbackError.category(fallback.modelName, category);
      }
      const isSame = fallback.modelName === modelName && fallback.modelDimension === modelDimension;
      if (category === 'vector' && !isSame) throw FallbackError.otherVectors(fallback.modelName);
    }
  }

  /** Checks that the tenant may use the host's identity, which cloud types use when no credential is set. */
  private checkIdentity(tenantId: string, authType: AuthType, hasCredential: boolean): void {
    if (!isCloudAuth(authType) || hasCredential || this.hostIdentity.isAllowed(tenantId)) return;
    throw new HostIdentityError();
  }

  private checkAddress(apiHost: string, providerCode: string, category: string): void {
    this.adapters.find(storedCategory(category), providerCode)?.endpoint?.(apiHost);
    this.http.assertAddressAllowed(apiHost);
  }

  private async record(
    caller: Caller,
    action: 'create' | 'update' | 'delete' | 'credential-change',
    id: number,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.audit.record(caller, { action, target: 'model', id, detail });
  }

  private async saved(
    tenantId: string,
    id: number,
    lost: readonly Message[] = [],
  ): Promise<Answer<ModelView>> {
    await this.revision.increment(tenantId);
    const model = await this.models.get(tenantId, id);
    const named = await this.models.named(tenantId, model.modelName);
    const alike = named.filter(({ category }) => storedCategory(category) === model.category);
    const warnings =
      alike.length > 1
        ? [
            msg`${alike.length} models are named ${model.modelName}; requests by name use the one with id ${alike[0]?.id ?? ''}. Give each its own name.`,
          ]
        : [];
    const view = toModelView(model, await this.keys.of(tenantId, [id]));
    return new Answer(view, sentences([OK_MESSAGE, ...warnings, ...lost]));
  }

  private async view(tenantId: string, id: number): Promise<ModelView> {
    const model = await this.models.get(tenantId, id);
    return toModelView(model, await this.keys.of(tenantId, [id]));
  }
}

/** Fields whose change invalidates the findings about the service. */
const SERVICE_FIELDS = ['providerCode', 'category', 'modelName', 'apiHost'] as const;

const NO_USES: LostUses = { knowledgeBases: 0, agents: 0, apiKeys: 0, fallbacks: 0 };

/** Messages about users of models that are gone, or have another name or category now. */
function lostBy(models: readonly Model[], lost: LostUses): Message[] {
  const { agents, knowledgeBases } = lost;
  const names = models.map(({ modelName }) => modelName).join(', ');
  const warnings: Message[] = [];
  if (knowledgeBases === 1) {
    warnings.push(
      msg`1 knowledge base uses ${names}. Choose another model in its settings, or create one of the same name.`,
    );
  } else if (knowledgeBases > 1) {
    warnings.push(
      msg`${knowledgeBases} knowledge bases use ${names}. Choose another model in their settings, or create one of the same name.`,
    );
  }
  if (agents === 1) warnings.push(msg`1 agent uses ${names}. Choose another model for it.`);
  else if (agents > 1) {
    warnings.push(msg`${agents} agents use ${names}. Choose another model for them.`);
  }
  return [...warnings, ...alsoAffected({ ...lost, knowledgeBases: 0, agents: 0 })];
}

function alsoAffected(lost: LostUses): Message[] {
  const parts = usesOf(lost);
  return parts.length === 0 ? [] : [msg`Also affected: ${allOf(parts)}.`];
}

function usesOf({ knowledgeBases, agents, apiKeys, fallbacks }: LostUses): Message[] {
  const parts: Message[] = [];
  if (knowledgeBases === 1) parts.push(msg`1 knowledge base`);
  if (knowledgeBases > 1) parts.push(msg`${knowledgeBases} knowledge bases`);
  if (agents === 1) parts.push(msg`1 agent`);
  if (agents > 1) parts.push(msg`${agents} agents`);
  if (apiKeys === 1) parts.push(msg`1 API key limited to chosen models`);
  if (apiKeys > 1) parts.push(msg`${apiKeys} API keys limited to chosen models`);
  if (fallbacks === 1) parts.push(msg`1 model that loses a fallback`);
  if (fallbacks > 1) parts.push(msg`${fallbacks} models that lose a fallback`);
  return parts;
}

/** Whether the same models can be fallbacks of both. */
function isOfSameKind(one: ModelWithFallbacks, other: ModelWithFallbacks): boolean {
  const category = storedCategory(one.category);
  if (category !== storedCategory(other.category)) return false;
  const isSame = one.modelName === other.modelName && one.modelDimension === other.modelDimension;
  return category !== 'vector' || isSame;
}

/** Parts a body into the columns it changes and the key, '' when it brings none. */
function readModel(
  body: CreateModelBody | UpdateModelBody,
  authType: AuthType,
): {
  values: ModelValues;
  apiKey: string;
  keys: readonly WrittenKey[] | undefined;
} {
  const { apiKey, keys, ...fields } = body;
  const values = Object.fromEntries(
    Object.entries<unknown>(fields).filter(
      ([field, value]) => !['id', 'revision'].includes(field) && value !== undefined,
    ),
  ) as ModelValues;
  if (values.category) values.category = storedCategory(values.category);
  if (values.modelName) values.modelName = values.modelName.trim();
  if (values.apiHost) values.apiHost = values.apiHost.trim();
  if (values.fallbackIds) values.fallbackIds = [...new Set(values.fallbackIds)];
  const { contextTiers, serviceTierFactors } = values;
  // Null leaves a list as it is.
  delete values.contextTiers;
  delete values.serviceTierFactors;
  if (contextTiers) values.contextTiers = contextTiers.map(stored);
  if (serviceTierFactors) values.serviceTierFactors = serviceTierFactors.map(stored);
  return {
    values,
    apiKey: readKey(apiKey, authType),
    keys: keys?.map((key) => readFurtherKey(key, authType)),
  };
}

/** A nested object of a body as its column holds it, without the fields that were not given. */
function stored<Value extends object>(value: Value): Value {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined && field !== null);
  return Object.fromEntries(fields) as Value;
}

function readFurtherKey(
  { id, label, apiKey, weight, enabled }: ModelKeyBody,
  authType: AuthType,
): WrittenKey {
  const key = readKey(apiKey, authType);
  if (id === undefined && key === '') {
    throw new InvalidInputError(msg`A new entry of keys needs its apiKey. Enter it.`);
  }
  return { id, label: label.trim(), apiKey: key, weight: weight ?? 1, enabled: enabled ?? true };
}

/** Whether other keys are used from now on. */
function hasChanged(stored: readonly ModelKey[], keys: readonly WrittenKey[]): boolean {
  return (
    stored.length !== keys.length ||
    keys.some(({ id, apiKey, enabled }) => {
      const before = stored.find((key) => key.id === id);
      return apiKey !== '' || before?.enabled !== enabled;
    })
  );
}

/** Matches characters that an HTTP header cannot carry (RFC 9110, 5.5), control characters of Latin-1 included. */
const UNSENDABLE = /[^\x20-\x7e\xa0-\xff]/;

/** The key without the spaces around it, which copying adds; '' for none. InvalidInputError for one that cannot be sent. */
function readKey(apiKey: string | null | undefined, authType: AuthType = 'bearer'): string {
  const key = checkedCredential(authType, apiKey?.trim() ?? '');
  // JSON is never a header by itself.
  if (isCloudAuth(authType)) return key;
  const at = key.search(UNSENDABLE);
  if (at === -1) return key;
  throw new InvalidInputError(
    msg`apiKey cannot be sent: character ${at + 1} is a control character or is outside Latin-1. Copy the key again, without line breaks and invisible characters.`,
  );
}

function changedFields(before: Model, values: ModelValues): string[] {
  return (Object.keys(values) as (keyof ModelValues)[]).filter(
    (field) => !isDeepStrictEqual(values[field], before[field]),
  );
}
