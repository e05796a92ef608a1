import { Injectable } from '@nestjs/common';
import {
  apiKeyDigest,
  API_SURFACES,
  isAssignable,
  isKeyPermission,
  keyPermissionCatalogue,
  isOffered,
  mayAny,
  newApiKey,
  newKeyId,
  permissionCatalogue,
  TAG,
} from '../platform/access/index.js';
import type { Caller, PermissionInfo } from '../platform/access/index.js';
import type { AuditRecord } from '../platform/audit/index.js';
import { ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { defined, givenTime, Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { AgentService } from '../agent/index.js';
import { AccessChange, requireHeld, UserAccessPolicy } from '../identity/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { ModelService } from '../model/index.js';
import { LIMITS } from './api-key.dto.js';
import type { ApiKeyListQuery, ChangedApiKeyDto, Limit, NewApiKeyDto } from './api-key.dto.js';
import type { ApiKey } from './api-key.entity.js';
import {
  ApiKeyBySignInError,
  ApiKeyNotFoundError,
  ApplicationKeyError,
  ExpiryError,
  NotAddressError,
  NotTagError,
  OtherTenantError,
  TooManyApiKeysError,
  UnknownKeyPermissionError,
  UnusableApiKeyError,
} from './api-key.errors.js';
import { ApiKeyRepository } from './api-key.repository.js';
import type { ApiKeyValues, ApplicationValues } from './api-key.repository.js';
import { prefixOf, toApiKeyView } from './api-key.view.js';
import type { ApiKeyView, NewApiKeyView } from './api-key.view.js';
import { isNetwork } from './networks.js';

/** The permission to manage keys of other users and of service accounts. */
const OTHERS = 'system:apikey:others';
/** Limit of a user's keys that are neither revoked nor expired. */
const MAX_KEY_COUNT = 100;

/** The column of each limit. */
const COLUMNS = {
  models: 'modelIds',
  agents: 'agentIds',
  knowledgeBases: 'knowledgeIds',
  addresses: 'addresses',
  doors: 'doors',
  expireTime: 'expireTime',
} as const satisfies Record<Limit, keyof ApiKeyValues>;

/** Columns whose change ends the open streams of the key; the end of a key ends them by itself. */
const RIGHTS: readonly (keyof ApiKeyValues)[] = [
  'permissions',
  'modelIds',
  'agentIds',
  'knowledgeIds',
  'addresses',
  'doors',
  'tags',
  'strictParameters',
  'toolConsent',
];

/**
 * API keys: everyone their own ones, and with a permission of its own those of the other users of the tenant. Every
 * change takes effect with the next request of the key, on every process.
 */
@Injectable()
export class ApiKeyService {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly policy: UserAccessPolicy,
    private readonly change: AccessChange,
    private readonly models: ModelService,
    private readonly agents: AgentService,
    private readonly knowledge: KnowledgeService,
  ) {}

  async list(caller: Caller, query: ApiKeyListQuery): Promise<Page<ApiKeyView>> {
    const { tenantId } = caller;
    const isOwn = query.scope !== 'tenant';
    if (!isOwn) requireOthers(caller);
    const page = await this.keys.page(tenantId, query, isOwn ? caller.userId : query.userId);
    const listed = await this.keys.withOwners(tenantId, page.rows);
    return new Page(
      listed.map((key) => toApiKeyView(key)),
      page.total,
    );
  }

  async get(caller: Caller, id: number): Promise<ApiKeyView> {
    return this.viewOf(await this.visible(caller, id));
  }

  /** The permissions that the caller can choose for a key. */
  permissions(caller: Caller): PermissionInfo[] {
    const offeredPermissions = permissionCatalogue.filter((info) => isOffered(caller, info));
    return [...keyPermissionCatalogue, ...offeredPermissions];
  }

  /** A key with no permission but the given ones. */
  async create(
    caller: Caller,
    { name, userId, ...input }: NewApiKeyDto,
    ofApplication: ApplicationValues & Pick<ApiKeyValues, 'expireTime'> = {},
  ): Promise<NewApiKeyView> {
    const { tenantId } = caller;
    requireSignIn(caller);
    const owner = userId ?? caller.userId;
    if (owner !== caller.userId) requireOthers(caller);
    else if (tenantId !== caller.homeTenantId) throw new OtherTenantError();
    const values = { ...(await this.valuesOf(caller, input)), ...ofApplication };
    const keyId = newKeyId();
    const key = newApiKey(keyId);
    const secretDigest = apiKeyDigest(key);
    return this.change.apply(
      caller,
      async () => {
        await this.requireManageable(caller, owner);
        const count = await this.keys.countActive(tenantId, owner);
        if (count >= MAX_KEY_COUNT) throw new TooManyApiKeysError(MAX_KEY_COUNT);
        const row = { permissions: [], ...values, name, userId: owner, keyId, secretDigest };
        const { id } = await this.keys.keys.insert(tenantId, row);
        return { id, prefix: prefixOf(keyId), key };
      },
      ({ id }) => [entry('create', id, { userId: owner, keyId, ...forAudit(values) })],
    );
  }

  async update(
    caller: Caller,
    { id, revision, name, withoutLimits = [], ...input }: ChangedApiKeyDto,
  ): Promise<void> {
    requireSignIn(caller);
    const values: ApiKeyValues = {
      ...defined({ name }),
      ...(await this.valuesOf(caller, input)),
      ...withoutColumns(withoutLimits),
    };
    const rights = RIGHTS.some((column) => values[column] !== undefined);
    await this.change.apply(
      caller,
      async () => {
        const current = () => this.get(caller, id);
        await this.changeable(caller, id);
        await this.keys.keys.requireRevision(caller.tenantId, id, { expected: revision, current });
        await this.keys.update(caller.tenantId, id, values, { rights });
      },
      () => [entry('update', id, { fields: Object.keys(values), ...forAudit(values) })],
    );
  }

  async rotate(caller: Caller, id: number, overlapSeconds: number): Promise<NewApiKeyView> {
    requireSignIn(caller);
    return this.change.apply(
      caller,
      async () => {
        const { keyId } = await this.changeable(caller, id);
        const key = newApiKey(keyId);
        await this.keys.rotate(caller.tenantId, id, apiKeyDigest(key), overlapSeconds);
        return { id, prefix: prefixOf(keyId), key };
      },
      () => [entry('credential-change', id, { overlapSeconds })],
    );
  }

  /** Revokes all of the keys or, when one of them cannot be, none. */
  async revoke(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        for (const id of ids) {
          const { userId } = await this.visible(caller, id);
          await this.requireManageable(caller, userId);
        }
        await this.keys.revoke(caller.tenantId, ids);
      },
      () => ids.map((id) => entry('revoke', id)),
    );
  }

  /** NotFoundError for a key of another user, unless the caller manages those. */
  private async visible(caller: Caller, id: number): Promise<ApiKey> {
    const scope = mayAny(caller, [OTHERS]) ? {} : { userId: caller.userId };
    return this.keys.keys.get(caller.tenantId, id, scope);
  }

  private async changeable(caller: Caller, id: number): Promise<ApiKey> {
    const key = await this.visible(caller, id);
    await this.requireManageable(caller, key.userId);
    if (key.revokedTime || (key.expireTime && key.expireTime <= new Date())) {
      throw new UnusableApiKeyError();
    }
    if (key.application !== null) throw new ApplicationKeyError();
    return key;
  }

  /** A key acts for its owner: the caller needs every permission that the owner has. */
  private async requireManageable(caller: Caller, userId: number): Promise<void> {
    if (userId !== caller.userId) await this.policy.manageableOne(caller, userId);
  }

  private async viewOf(key: ApiKey): Promise<ApiKeyView> {
    const [listed] = await this.keys.withOwners(key.tenantId, [key]);
    if (!listed) throw new ApiKeyNotFoundError();
    return toApiKeyView(listed);
  }

  /** The columns that a body changes. Records that the caller cannot see are answered as missing. */
  private async valuesOf(
    caller: Caller,
    input: Omit<NewApiKeyDto, 'name' | 'userId'>,
  ): Promise<ApiKeyValues> {
    const { permissions, addresses, doors, expireTime } = input;
    if (permissions) requireGrantable(caller, permissions);
    const wrong = addresses?.find((address) => !isNetwork(address));
    if (wrong !== undefined) throw new NotAddressError(wrong);
    const wrongTag = input.tags?.find((tag) => !TAG.test(tag));
    if (wrongTag !== undefined) throw new NotTagError(wrongTag);
    if (doors) requireOneOf('doors', doors, API_SURFACES);
    for (const id of input.modelIds ?? []) await this.models.get(caller, id);
    for (const id of input.agentIds ?? []) await this.agents.requireUsable(caller, id);
    for (const id of input.knowledgeIds ?? []) await this.knowledge.selectable(caller, id);
    return {
      ...defined({
        permissions: unique(permissions),
        modelIds: unique(input.modelIds),
        agentIds: unique(input.agentIds),
        knowledgeIds: unique(input.knowledgeIds),
        addresses: unique(addresses),
        doors: unique(doors),
        tags: unique(input.tags),
        strictParameters: input.strictParameters,
        toolConsent: input.toolConsent,
      }),
      ...(expireTime && { expireTime: futureTime(expireTime) }),
    };
  }
}

function requireOthers(caller: Caller): void {
  if (mayAny(caller, [OTHERS])) return;
  throw new ForbiddenError(
    msg`You need the permission ${OTHERS} for API keys of others. Ask an administrator for it.`,
  );
}

function requireSignIn({ apiKey }: Caller): void {
  if (apiKey) throw new ApiKeyBySignInError();
}

function requireGrantable(caller: Caller, permissions: readonly string[]): void {
  const unknown = permissions.find((one) => !isAssignable(one) && !isKeyPermission(one));
  if (unknown !== undefined) throw new UnknownKeyPermissionError(unknown);
  requireHeld(caller, { permissions: permissions.filter((one) => !isKeyPermission(one)) });
}

function requireOneOf(field: string, values: readonly string[], allowed: readonly string[]): void {
  if (values.every((one) => allowed.includes(one))) return;
  throw new InvalidInputError(msg`each entry of ${field} must be one of ${allowed.join(', ')}.`);
}

function futureTime(text: string): Date {
  const time = givenTime('expireTime', text, 'start');
  if (time <= new Date()) throw new ExpiryError();
  return time;
}

function withoutColumns(limits: readonly string[]): ApiKeyValues {
  requireOneOf('withoutLimits', limits, LIMITS);
  const columns = limits.map((limit) => [COLUMNS[limit as Limit], null] as const);
  return Object.fromEntries(columns);
}

function unique<T>(values: readonly T[] | undefined): T[] | undefined {
  return values && [...new Set(values)];
}

/** The rights of a key for the audit log, without its secret. */
function forAudit({ name: _, ...rights }: ApiKeyValues): Readonly<Record<string, unknown>> {
  return defined(rights);
}

function entry(
  action: AuditRecord['action'],
  id: number,
  detail: Readonly<Record<string, unknown>> = {},
): AuditRecord {
  return { action, target: 'api_key', id, detail };
}
