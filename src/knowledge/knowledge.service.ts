import { Injectable } from '@nestjs/common';
import { requireUnlimitedKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { ForbiddenError, InvalidInputError, NotFoundError } from '../platform/error/index.js';
import { Answer, isBlank, OK_MESSAGE } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { Grants, LevelNeededError, requireMayPublish } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import type {
  CreateKnowledgeBody,
  KnowledgeListQuery,
  UpdateKnowledgeBody,
} from './knowledge.dto.js';
import { ModelService } from '../model/index.js';
import { VectorStores } from '../vector-store/index.js';
import { KnowledgeContents } from './knowledge-contents.js';
import type { KnowledgeBase } from './knowledge.entity.js';
import {
  isOfSession,
  ReindexNeededError,
  NoVisionModelError,
  requireSplitSettings,
  SessionKnowledgeError,
  splitSettings,
  UnknownModelError,
} from './knowledge.rules.js';
import { KNOWLEDGE_SETTINGS } from './knowledge.settings.js';
import { changedColumns, entries } from './setting.kinds.js';
import { KnowledgeRepository } from './knowledge.repository.js';
import type { KnowledgeValues } from './knowledge.repository.js';
import { toKnowledgeView } from './knowledge.view.js';
import type { KnowledgeView } from './knowledge.view.js';

const LABEL = msg`The knowledge base`;

/** The user has chosen the files for the question, so no fragment is too dissimilar. */
const SESSION_SETTINGS = { similarityThreshold: 0, enableHybrid: 1 } as const;

/** Agents that one message names. */
const MAX_NAMED_AGENTS = 20;

/** Knowledge base records and access to them. Saving one never calls a model service. */
@Injectable()
export class KnowledgeService {
  constructor(
    private readonly bases: KnowledgeRepository,
    private readonly models: ModelService,
    private readonly stores: VectorStores,
    private readonly contents: KnowledgeContents,
    private readonly grants: Grants,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(caller: Caller, query: KnowledgeListQuery): Promise<Page<KnowledgeView>> {
    const page = await this.bases.page(caller, query);
    const viewOf = await this.viewer(
      caller,
      page.rows.map(({ id }) => id),
    );
    return page.map(viewOf);
  }

  async get(caller: Caller, id: number): Promise<KnowledgeView> {
    const knowledge = await this.readable(caller, id);
    const viewOf = await this.viewer(caller, [id]);
    return viewOf(knowledge);
  }

  async create(caller: Caller, body: CreateKnowledgeBody): Promise<Answer<null>> {
    const { tenantId } = caller;
    requireUnlimitedKey(caller, 'knowledgeBases', msg`knowledge bases`);
    const { share, ...values } = valuesOf(body);
    if (share === 1) requireMayPublish(caller);
    return this.database.transaction(async () => {
      const notice = await this.check(caller, values);
      // The service itself (systemCaller) is not a user.
      const id = await this.bases.insert(tenantId, caller.userId || null, values);
      await this.grants.own(caller, 'knowledge', id);
      if (share === 1) await this.grants.publish(caller, 'knowledge', id, 'read');
      await this.audit.record(caller, { action: 'create', target: 'knowledge_base', id });
      return new Answer(null, messageWith(notice));
    });
  }

  /** Saves the given fields; with `reindex` every document is parsed again with the new settings. */
  async update(caller: Caller, body: UpdateKnowledgeBody): Promise<Answer<null>> {
    const { tenantId } = caller;
    const { id, reindex = false, revision, ...fields } = body;
    return this.database.transaction(async () => {
      await this.bases.lockForUpdate(tenantId, [id]);
      const before = await this.writable(caller, id);
      const current = () => this.get(caller, id);
      await this.bases.bases.requireRevision(tenantId, id, { expected: revision, current });
      const { share = before.share, ...values } = valuesOf(fields, before);
      const notice = await this.check(caller, values, before);
      if (share !== before.share) await this.share(caller, id, share);
      if (!reindex) await this.assertNoReindexNeeded(before, values);
      // Only an update that parses every document again moves the vectors to another store.
      const home = reindex && { vectorStore: this.storeAfterReindex({ ...before, ...values }) };
      await this.bases.bases.update(tenantId, id, { ...values, ...home });
      const changed = changedFields(before, { ...values, share });
      await this.audit.record(caller, {
        action: 'update',
        target: 'knowledge_base',
        id,
        detail: { fields: changed, ...(reindex && { reindex }) },
      });
      const after = { ...before, ...values, ...home, share };
      if (reindex) await this.contents.reindex(caller, after, before);
      const notices = [
        notice,
        reindex ? undefined : await this.languageNotice(after, before),
        before.share === 1 && share === 0 ? await this.lossNotice(caller, id) : undefined,
      ];
      return new Answer(null, messageWith(joined(notices)));
    });
  }

  /** Deletes the bases with their content: all of them or, when one cannot be deleted, none. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.removeAll(caller, ids, (id) => this.managed(caller, id));
  }

  /** Deletes the bases of those of the chat sessions that are the caller's own. */
  async removeOfSessions(caller: Caller, sessionIds: readonly number[]): Promise<void> {
    const ids = await this.bases.idsOfSessions(caller, sessionIds);
    if (ids.length > 0) await this.removeAll(caller, ids, (id) => this.readable(caller, id));
  }

  private async removeAll(
    caller: Caller,
    ids: readonly number[],
    removable: (id: number) => Promise<KnowledgeBase>,
  ): Promise<void> {
    const { tenantId } = caller;
    const unique = [...new Set(ids)].sort((a, b) => a - b);
    await this.database.longTransaction(async () => {
      // Lock order: bases by id, then documents by id, as changes and finished parsings do, which prevents deadlocks. The
      // exclusive lock of the bases comes last, because a parsing may hold a document and still need its base.
      await this.bases.lockForUpdate(tenantId, unique);
      const bases: KnowledgeBase[] = [];
      for (const id of unique) bases.push(await removable(id));
      await this.contents.holding(tenantId, unique);
      await this.bases.lockForDelete(tenantId, unique);
      for (const base of bases) {
        const { id } = base;
        await this.contents.deleting(caller, base);
        await this.bases.bases.remove(tenantId, [id]);
        await this.audit.record(caller, { action: 'delete', target: 'knowledge_base', id });
      }
    });
  }

  /**
   * The base, if the caller may read it; otherwise NotFoundError for `label`, so that a request for a document discloses
   * nothing about its base.
   */
  async readable(caller: Caller, id: number, label: Message = LABEL): Promise<KnowledgeBase> {
    return this.reached(caller, id, 'read', label);
  }

  /** The base, if the caller may search it; otherwise NotFoundError. */
  async usable(caller: Caller, id: number): Promise<KnowledgeBase> {
    return this.reached(caller, id, 'use', LABEL);
  }

  /** Like `readable`; throws ForbiddenError for a base that the caller may read and not change. */
  async writable(caller: Caller, id: number, label: Message = LABEL): Promise<KnowledgeBase> {
    const knowledge = await this.bases.reached(caller, id, 'write');
    if (!knowledge) {
      await this.readable(caller, id, label);
      throw new ForbiddenError(
        msg`This knowledge base is shared with you for reading only. Ask its owner to change it.`,
      );
    }
    if (isOfSession(knowledge)) throw new SessionKnowledgeError();
    return knowledge;
  }

  /** Like `writable`, for deleting the base and granting it. */
  private async managed(caller: Caller, id: number): Promise<KnowledgeBase> {
    const knowledge = await this.writable(caller, id);
    const reachable = await this.grants.reachable(caller, 'knowledge', 'manage', [id]);
    if (!reachable.has(id)) throw new LevelNeededError(LABEL, 'manage');
    return knowledge;
  }

  /** Like `usable`, for a base chosen for an agent or a question; throws NotFoundError for that of a chat session. */
  async selectable(caller: Caller, id: number): Promise<KnowledgeBase> {
    const knowledge = await this.usable(caller, id);
    if (isOfSession(knowledge)) throw new NotFoundError(LABEL);
    return knowledge;
  }

  private async reached(
    caller: Caller,
    id: number,
    level: GrantLevel,
    label: Message,
  ): Promise<KnowledgeBase> {
    const knowledge = await this.bases.reached(caller, id, level);
    if (!knowledge) throw new NotFoundError(label);
    return knowledge;
  }

  /** The base of the chat session of the caller, if it has one. */
  async ofSession(caller: Caller, sessionId: number): Promise<KnowledgeBase | undefined> {
    const knowledge = await this.bases.ofSession(caller.tenantId, sessionId);
    return knowledge?.userId === caller.userId ? knowledge : undefined;
  }

  /**
   * Creates the base of a chat session of the caller, who alone may read it. Both channels search it; without an
   * embedding model, words alone. Only the turn that runs in the session may call this.
   */
  async createOfSession(
    caller: Caller,
    sessionId: number,
    embeddingModel: string,
  ): Promise<KnowledgeBase> {
    const { tenantId, userId } = caller;
    return this.database.transaction(async () => {
      const id = await this.bases.insert(tenantId, userId, {
        ...SESSION_SETTINGS,
        name: `Files of chat session ${sessionId}`,
        sessionId,
        embeddingModel,
      });
      const detail = { sessionId };
      await this.audit.record(caller, { action: 'create', target: 'knowledge_base', id, detail });
      return this.readable(caller, id);
    });
  }

  /** The ids of all bases that the caller may read, ascending. */
  async readableIds(caller: Caller): Promise<number[]> {
    return this.bases.readableIds(caller);
  }

  /**
   * Those of the bases that a search on behalf of the caller may use, in the order of the ids: with a grant of the caller or,
   * where `manager` has bound them to an agent, of that user for managing them: those are passed on with all documents.
   */
  async searchable(
    caller: Caller,
    ids: readonly number[],
    manager?: Caller,
  ): Promise<KnowledgeBase[]> {
    const bases = inOrderOf(ids, await this.bases.usable(caller, ids, manager));
    const restrictedIds = bases.filter(({ restricted }) => restricted).map(({ id }) => id);
    if (!manager || restrictedIds.length === 0) return bases;
    const managed = await this.grants.reachable(manager, 'knowledge', 'manage', restrictedIds);
    return bases.map((base) => Object.assign(base, { passedOn: managed.has(base.id) }));
  }

  /** The existing bases among the ids, in this order. Without a permission check: for work that was authorised before. */
  async ofTenant(tenantId: string, ids: readonly number[]): Promise<KnowledgeBase[]> {
    return inOrderOf(ids, await this.bases.find(tenantId, ids));
  }

  /** The base, locked against changes until the open transaction ends, if it exists. Lock it before its documents. */
  async unchanging(tenantId: string, id: number): Promise<KnowledgeBase | undefined> {
    await this.bases.lockForShare(tenantId, id);
    return (await this.bases.findOne(tenantId, id)) ?? undefined;
  }

  /** Locks the base for a change until the open transaction ends; false if it does not exist. Lock it before its documents. */
  async lock(tenantId: string, id: number): Promise<boolean> {
    await this.bases.lockForUpdate(tenantId, [id]);
    return (await this.bases.findOne(tenantId, id)) !== null;
  }

  /** Gives every user of the tenant the base to read, or takes it back. */
  private async share(caller: Caller, id: number, share: number): Promise<void> {
    await this.managed(caller, id);
    if (share === 0) return this.grants.withdraw(caller, 'knowledge', id);
    requireMayPublish(caller);
    await this.grants.publish(caller, 'knowledge', id, 'read');
  }

  /**
   * Throws the DomainError that says what to correct; returns a notice of what is saved but has no effect. Unchanged values are not
   * checked again, because their model may have been deleted since.
   */
  private async check(
    caller: Caller,
    values: KnowledgeValues,
    before?: KnowledgeBase,
  ): Promise<Message | undefined> {
    if (values.name !== undefined && isBlank(values.name))
      throw new InvalidInputError(msg`name must not be empty.`);
    requireSplitSettings(splitSettings(values, before));
    await this.requireModels(caller, values, before);
    await this.requireVision(caller.tenantId, values, before);
    return joined([this.storeNotice(values, before), rerankNotice({ ...before, ...values })]);
  }

  private async languageNotice(
    { tenantId, id, language }: KnowledgeBase,
    before: KnowledgeBase,
  ): Promise<Message | undefined> {
    if (language === before.language || !(await this.contents.isIndexed(tenantId, id))) return;
    return msg`Documents that are parsed already keep the language they were indexed in. Send reindex: true to parse them again.`;
  }

  /** Notice about agents that no longer pass on the base because it is not shared any more. */
  private async lossNotice(caller: Caller, id: number): Promise<Message | undefined> {
    const names = await this.contents.losing(caller, id);
    if (names.length === 0) return undefined;
    const listedNames = names.slice(0, MAX_NAMED_AGENTS).join(', ');
    return names.length > MAX_NAMED_AGENTS
      ? msg`Agents whose creators do not manage it search it only for users with access of their own: ${listedNames} and ${names.length - MAX_NAMED_AGENTS} more.`
      : msg`Agents whose creators do not manage it search it only for users with access of their own: ${listedNames}.`;
  }

  /** The views of the bases, with what their contents report. */
  private async viewer(
    caller: Caller,
    ids: readonly number[],
  ): Promise<(knowledge: KnowledgeBase) => KnowledgeView> {
    const documents = await this.contents.documentCounts(caller, ids);
    const removals = await this.contents.pendingRemovals(caller.tenantId, ids);
    const levels = await this.grants.levels(caller, 'knowledge', ids);
    return (knowledge) =>
      toKnowledgeView(knowledge, {
        // The base of a chat session has no grants; its owner reads it.
        level: levels.get(knowledge.id) ?? 'read',
        documentCount: documents.get(knowledge.id) ?? 0,
        vectorRemovals: removals.get(knowledge.id) ?? 0,
        vectorStore: this.stores.of(knowledge).code,
        storeAfterReindex: this.storeAfterReindex(knowledge),
      });
  }

  private storeAfterReindex({ vectorModel }: Pick<KnowledgeBase, 'vectorModel'>): string {
    return this.stores.configured(vectorModel).code;
  }

  private storeNotice(values: KnowledgeValues, before?: KnowledgeBase): Message | undefined {
    const { vectorModel = '' } = values;
    const isKept = before && (values.vectorModel ?? before.vectorModel) === before.vectorModel;
    return isKept ? undefined : this.stores.check(vectorModel).notice;
  }

  /** The changed settings that make the stored vectors unusable. */
  private changesNeedingReindex(before: KnowledgeBase, values: KnowledgeValues): string[] {
    const { embeddingModel, vectorModel } = { ...before, ...values };
    const changes: [string, boolean][] = [
      ['embeddingModel', embeddingModel !== before.embeddingModel],
      [
        'vectorModel',
        vectorModel !== before.vectorModel &&
          this.storeAfterReindex({ vectorModel }) !== this.stores.of(before).code,
      ],
    ];
    return changes.filter(([, changed]) => changed).map(([setting]) => setting);
  }

  private async requireModels(
    caller: Caller,
    values: RequestedValues,
    before?: KnowledgeBase,
  ): Promise<void> {
    for (const [field, setting] of entries(KNOWLEDGE_SETTINGS)) {
      if (!('category' in setting)) continue;
      const modelName = values[field];
      if (!modelName || modelName === before?.[field]) continue;
      if (await this.models.exists(caller, String(modelName), setting.category)) continue;
      throw new UnknownModelError(field, String(modelName), setting.category);
    }
  }

  private async requireVision(
    tenantId: string,
    { ocrModel }: KnowledgeValues,
    before: KnowledgeBase | undefined,
  ): Promise<void> {
    if (!ocrModel || ocrModel === before?.ocrModel) return;
    if (!(await this.models.seesImages(tenantId, ocrModel))) throw new NoVisionModelError(ocrModel);
  }

  private async assertNoReindexNeeded(
    before: KnowledgeBase,
    values: KnowledgeValues,
  ): Promise<void> {
    const settings = this.changesNeedingReindex(before, values);
    if (settings.length === 0) return;
    if (await this.contents.isIndexed(before.tenantId, before.id)) {
      throw new ReindexNeededError(settings);
    }
  }
}

/** The columns and the sharing that a body changes. */
type RequestedValues = KnowledgeValues & Partial<Pick<KnowledgeBase, 'share'>>;

/** The values that a body changes, with the overlap that was sent or follows from the block size. */
function valuesOf(
  body: CreateKnowledgeBody | Omit<UpdateKnowledgeBody, 'id'>,
  before?: KnowledgeBase,
): RequestedValues {
  const values: RequestedValues = changedColumns(KNOWLEDGE_SETTINGS, body);
  // Existing forms clear it by 0.
  if (values.rerankTopN === 0) values.rerankTopN = null;
  const { overlapChar } = body;
  const { textBlockSize } = values;
  if (before && textBlockSize === undefined && overlapChar === undefined) return values;
  return { ...values, ...splitSettings({ textBlockSize, overlapChar }, before) };
}

function rerankNotice({
  enableRerank,
  rerankModel,
}: Pick<KnowledgeValues, 'enableRerank' | 'rerankModel'>): Message | undefined {
  if (enableRerank !== 1 || (rerankModel && !isBlank(rerankModel))) return undefined;
  return msg`Reranking is on, but no rerank model is chosen, so results keep the order before it. Choose a model of category rerank.`;
}

function changedFields(before: KnowledgeBase, values: RequestedValues): string[] {
  return (Object.keys(values) as (keyof RequestedValues)[]).filter(
    // Older rows have an empty text where a cleared setting is null now.
    (field) => (values[field] ?? '') !== (before[field] ?? ''),
  );
}

function inOrderOf(ids: readonly number[], bases: readonly KnowledgeBase[]): KnowledgeBase[] {
  const byId = new Map(bases.map((knowledge) => [knowledge.id, knowledge]));
  return ids.map((id) => byId.get(id)).filter((knowledge) => knowledge !== undefined);
}

function joined(notices: readonly (Message | undefined)[]): Message | undefined {
  const present = notices.filter((notice) => notice !== undefined);
  return present.length === 0 ? undefined : sentences(present);
}

function messageWith(notice: Message | undefined): Message {
  return notice === undefined ? OK_MESSAGE : sentences([OK_MESSAGE, notice]);
}
