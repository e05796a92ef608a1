import { Injectable } from '@nestjs/common';
import { idsOfKey, isSuperAdmin, mayAny, requireWithinKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { localized, orderOf, Page, rowsOf } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { AccessChange, UserCallers } from '../identity/index.js';
import type {
  ExplainQuery,
  GrantedQuery,
  GrantInput,
  RecordQuery,
  SubjectQuery,
} from './access.dto.js';
import {
  AccessRecordView,
  AccessView,
  ExplanationView,
  GrantedRecordView,
  AccessGrantView,
  SubjectView,
} from './access.view.js';
import { GrantRepository } from './grant.repository.js';
import type { ReachedRecord, StoredDocument, StoredGrant } from './grant.repository.js';
import {
  comparedSubjects,
  LevelNeededError,
  levelName,
  LEVELS,
  MAY_ADMINISTER,
  mayAdminister,
  NoListError,
  NoManagerError,
  REACHED_TYPES,
  readSubject,
  RepeatedSubjectError,
  requireMayPublish,
  resourceOf,
  SUBJECT_KINDS,
  TENANT_SUBJECT,
  UnsuitableLevelError,
  userSubject,
} from './grant.rules.js';
import type { ReachedType, ResourceType } from './grant.rules.js';

/** Subjects that a search answers. */
const MAX_FOUND_SUBJECTS = 100;

/** A record with its own grants; `restricted` of a document: whether it has any list. */
type GrantedRecord = Pick<ReachedRecord, 'id' | 'name'> &
  Partial<Pick<StoredDocument, 'restricted'>>;

/** A record whose grants the caller may see and change; `byPermission`: as an administrator, whom no grant lets manage it. */
interface ManagedRecord extends GrantedRecord {
  readonly byPermission: boolean;
}

/** Who may reach what: reads and replaces the grants of a record, and explains them. */
@Injectable()
export class AccessService {
  constructor(
    private readonly grants: GrantRepository,
    private readonly users: UserCallers,
    private readonly change: AccessChange,
    private readonly audit: AuditLog,
  ) {}

  /** The grants of a record that the caller manages or administers. */
  async get(caller: Caller, type: ResourceType, id: number): Promise<AccessView> {
    const { byPermission, ...record } = await this.managed(caller, type, id);
    const view = await this.view(caller, type, record);
    if (byPermission) await this.auditView(caller, resourceOf(type).auditTarget, id);
    return view;
  }

  /** Replaces the grants of a record that the caller manages or administers. They count from the next call on, in every process. */
  async replace(
    caller: Caller,
    type: ResourceType,
    id: number,
    requested: readonly GrantInput[] | null,
  ): Promise<AccessView> {
    const { tenantId } = caller;
    const { auditTarget: target } = resourceOf(type);
    const isDocument = type === 'document';
    const restricted = requested !== null;
    if (!restricted && !isDocument) throw new NoListError();
    requireSuitable(type, requested ?? []);
    const { record } = await this.change.apply(
      caller,
      async () => {
        const { byPermission, ...managed } = await this.managed(caller, type, id);
        if (isDocument) await this.grants.lockBase(tenantId, id);
        await this.grants.keep(tenantId, type, id);
        const before = await this.grants.of(tenantId, type, id);
        const { changed, removed } = difference(before, requested ?? []);
        const subjects = changed.map(({ subject }) => subject);
        await this.grants.requireSubjects(tenantId, subjects);
        // The readers of a document never reach beyond those of its base.
        if (!isDocument && subjects.includes(TENANT_SUBJECT)) requireMayPublish(caller);
        await this.grants.put(caller, type, id, changed);
        await this.grants.remove(tenantId, type, id, removed);
        if (isDocument) await this.grants.restrict(tenantId, id, restricted);
        return { record: managed, byPermission, changed, removed };
      },
      ({ byPermission, changed, removed }) => {
        const granted = changed.map(({ subject, level }) => `${subject} ${levelName(level)}`);
        const by = byPermission && { byPermission: MAY_ADMINISTER };
        const detail = { granted, removed, ...(isDocument && { restricted }), ...by };
        return [{ action: 'permission-change', target, id, detail }];
      },
    );
    // The caller may have given up the level manage.
    return this.view(caller, type, { ...record, ...(isDocument && { restricted }) });
  }

  /** Users, roles and groups of the tenant, and the tenant itself. */
  async subjects(caller: Caller, { name = '', kind }: SubjectQuery): Promise<SubjectView[]> {
    const kinds = kind === undefined ? SUBJECT_KINDS : [kind];
    const tenant =
      kinds.includes(TENANT_SUBJECT) && name === '' ? [viewOf(TENANT_SUBJECT, null)] : [];
    const named = await this.grants.search(caller.tenantId, name, kinds, MAX_FOUND_SUBJECTS);
    return [...tenant, ...named.map((one) => viewOf(one.subject, one.name))];
  }

  /** All records of the tenant that can be granted, within the limits of the caller's API key, for one who administers them. */
  async records(caller: Caller, query: RecordQuery): Promise<Page<AccessRecordView>> {
    const { name = '', type, unmanaged = null } = query;
    const types = type === undefined ? REACHED_TYPES : [type];
    const limits = new Map<ReachedType, readonly number[]>();
    for (const one of types) {
      const { keyLimit } = resourceOf(one);
      const ids = keyLimit && idsOfKey(caller, keyLimit);
      if (ids) limits.set(one, ids);
    }
    const { rows, total } = await this.grants.records(
      caller.tenantId,
      { types, limits, text: name, unmanaged },
      { ...rowsOf(query), order: orderOf(query) },
    );
    await this.auditView(caller, 'access', undefined, { total });
    const views = rows.map((row) => AccessRecordView.of(row));
    return new Page(views, total);
  }

  /**
   * The records that a subject may reach: all of the caller's own, and of others those that the caller manages; all for one who
   * administers them.
   */
  async granted(caller: Caller, query: GrantedQuery): Promise<Page<GrantedRecordView>> {
    const { tenantId } = caller;
    const { subject = userSubject(caller.userId), type } = query;
    const types = type === undefined ? REACHED_TYPES : [type];
    const { kind, id } = readSubject(subject);
    const isOwn = caller.subjects.includes(subject);
    const subjects = kind === 'user' && id ? await this.subjectsOfUser(caller, id) : [subject];
    const byPermission = !isOwn && mayAdminister(caller);
    const managedBy = isOwn || byPermission ? null : comparedSubjects(caller);
    const { rows, total } = await this.grants.ofSubjects(tenantId, subjects, types, managedBy, {
      ...rowsOf(query),
      order: orderOf(query),
    });
    if (byPermission && total > 0) {
      await this.auditView(caller, kind === 'group' ? 'user_group' : kind, id ?? undefined);
    }
    const views = rows.map((row) => GrantedRecordView.of({ ...row, level: levelName(row.level) }));
    return new Page(views, total);
  }

  /**
   * The grants by which a user reaches a record, and what is missing: for oneself, and for a record that the caller manages or
   * administers.
   */
  async explain(
    caller: Caller,
    { user: userId, type, id }: ExplainQuery,
  ): Promise<ExplanationView> {
    const { tenantId } = caller;
    let byPermission = false;
    if (userId === caller.userId && !mayAdminister(caller)) await this.reached(caller, type, id);
    else ({ byPermission } = await this.managed(caller, type, id));
    const user = await this.users.working({ userId, tenantId });
    if (!user) throw new NotFoundError(msg`The user`);
    if (byPermission) await this.auditView(caller, resourceOf(type).auditTarget, id, { userId });
    const grants = (await this.grants.of(tenantId, type, id)).filter(({ subject }) =>
      user.subjects.includes(subject),
    );
    const [highest] = grants;
    return ExplanationView.of({
      level: highest ? levelName(highest.level) : null,
      isSuperAdmin: isSuperAdmin(user),
      grants: await this.views(caller, grants),
      missing: missingOf(user, type, highest?.level ?? 0).map((one) => localized(one)),
    });
  }

  /** Records that the caller has seen what is shown to administrators alone. */
  private auditView(
    caller: Caller,
    target: string,
    id?: number,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    return this.audit.record(caller, { action: 'access-view', target, id, detail });
  }

  /** The record, if the caller manages or administers it. NotFoundError for one that they may not even read. */
  private async managed(caller: Caller, type: ResourceType, id: number): Promise<ManagedRecord> {
    if (type === 'document') {
      return { ...(await this.changeableDocument(caller, id)), byPermission: false };
    }
    const { label, managedBy } = resourceOf(type);
    const record = await this.reached(caller, type, id);
    const isManaged =
      managedBy === undefined ? record.level >= LEVELS.manage : mayAny(caller, [managedBy]);
    if (isManaged || mayAdminister(caller)) return { ...record, byPermission: !isManaged };
    throw new LevelNeededError(label, 'manage');
  }

  /** The document, if the caller may write to its base. NotFoundError for one that they may not even read. */
  private async changeableDocument(caller: Caller, id: number): Promise<StoredDocument> {
    const { label } = resourceOf('document');
    const document = await this.grants.document(caller.tenantId, id, comparedSubjects(caller));
    if (!document) throw new NotFoundError(label);
    const { level } = await this.reached(caller, 'knowledge', document.knowledgeId, label);
    if (level >= LEVELS.write || isSuperAdmin(caller)) return document;
    if (level < LEVELS.read || !document.readable) throw new NotFoundError(label);
    throw new LevelNeededError(resourceOf('knowledge').label, 'write');
  }

  /** The record, if the caller has any level on it or administers it; otherwise NotFoundError for the label. */
  private async reached(
    caller: Caller,
    type: ResourceType,
    id: number,
    label = resourceOf(type).label,
  ): Promise<ReachedRecord> {
    const { keyLimit, managedBy } = resourceOf(type);
    if (keyLimit) requireWithinKey(caller, keyLimit, [id], label);
    const record = await this.grants.record(caller.tenantId, type, id, caller.subjects);
    const isReached =
      record &&
      (record.level > 0 || mayAdminister(caller) || (managedBy && mayAny(caller, [managedBy])));
    if (!isReached) throw new NotFoundError(label);
    return record;
  }

  /** The subjects of another user; of one that may not sign in, the user alone. */
  private async subjectsOfUser({ tenantId }: Caller, userId: number): Promise<readonly string[]> {
    const user = await this.users.working({ userId, tenantId });
    return user ? user.subjects : [userSubject(userId)];
  }

  private async view(
    caller: Caller,
    type: ResourceType,
    { id, name, restricted = true }: GrantedRecord,
  ): Promise<AccessView> {
    const { levels } = resourceOf(type);
    const stored = await this.grants.of(caller.tenantId, type, id);
    const grants = restricted ? await this.views(caller, stored) : null;
    return AccessView.of({ type, id, name, levels, grants });
  }

  private async views(
    { tenantId }: Caller,
    grants: readonly StoredGrant[],
  ): Promise<AccessGrantView[]> {
    if (grants.length === 0) return [];
    const names = await this.grants.names(
      tenantId,
      grants.map(({ subject }) => subject),
    );
    return grants.map(({ subject, level }) =>
      AccessGrantView.of({
        ...viewOf(subject, names.get(subject) ?? null),
        level: levelName(level),
      }),
    );
  }
}

function viewOf(subject: string, name: string | null): SubjectView {
  const { kind } = readSubject(subject);
  return SubjectView.of({ subject, kind, name });
}

/** Throws the error that says what to send instead. */
function requireSuitable(type: ResourceType, grants: readonly GrantInput[]): void {
  const { label, levels, managedBy } = resourceOf(type);
  const subjects = grants.map(({ subject }) => subject);
  const repeated = subjects.find((subject, at) => subjects.indexOf(subject) !== at);
  if (repeated !== undefined) throw new RepeatedSubjectError(repeated);
  if (grants.some(({ level }) => !levels.includes(level)))
    throw new UnsuitableLevelError(label, levels);
  const needsManager = managedBy === undefined && levels.includes('manage');
  if (needsManager && !grants.some(({ level }) => level === 'manage')) {
    throw new NoManagerError();
  }
}

/** What a list of grants changes. */
function difference(
  before: readonly StoredGrant[],
  requested: readonly GrantInput[],
): { changed: StoredGrant[]; removed: string[] } {
  const levels = new Map(before.map(({ subject, level }) => [subject, level]));
  const grants = requested.map(({ subject, level }) => ({ subject, level: LEVELS[level] }));
  return {
    changed: grants.filter(({ subject, level }) => levels.get(subject) !== level),
    removed: [...levels.keys()].filter((one) => !requested.some(({ subject }) => subject === one)),
  };
}

/** What the user lacks for the levels of the record. */
function missingOf(user: Caller, type: ResourceType, level: number): Message[] {
  if (isSuperAdmin(user)) return [];
  const { levels, permissions } = resourceOf(type);
  return levels.flatMap((one): Message[] => {
    if (LEVELS[one] > level) {
      return [
        msg`${one}: no grant of the user, of their roles or groups has this level. Grant it.`,
      ];
    }
    const permission = permissions[one];
    if (permission === undefined || mayAny(user, [permission])) return [];
    return [
      msg`${one}: the user has the grant, but not the permission ${permission}. Give them a role with it.`,
    ];
  });
}
