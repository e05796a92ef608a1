import { Injectable } from '@nestjs/common';
import { isWithinKey, mayAny, TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { GrantRepository } from './grant.repository.js';
import {
  comparedSubjects,
  LEVELS,
  MAY_GRANT,
  NoManagerError,
  ReadersPermissionError,
  resourceOf,
  TENANT_SUBJECT,
  userSubject,
} from './grant.rules.js';
import type { Grantee, GrantLevel, ResourceType } from './grant.rules.js';

/** What features ask and change. The predicate for their statements is `grantedTo` and `granted`; rows go with what they name. */
@Injectable()
export class Grants {
  constructor(
    private readonly repository: GrantRepository,
    private readonly revision: TenantRevision,
  ) {}

  /** Lets the creator manage a new record. Call it in the transaction that creates it. The service itself is no subject. */
  async own(caller: Caller, type: ResourceType, id: number): Promise<void> {
    if (caller.userId === 0) return;
    const subject = userSubject(caller.userId);
    await this.repository.put(caller, type, id, [{ subject, level: LEVELS.manage }]);
  }

  /** Gives every user of the tenant the level on a record. Call it in the transaction of the change. */
  async publish(caller: Caller, type: ResourceType, id: number, level: GrantLevel): Promise<void> {
    await this.repository.put(caller, type, id, [
      { subject: TENANT_SUBJECT, level: LEVELS[level] },
    ]);
    await this.revision.incrementAccess(caller.tenantId);
  }

  /** Takes back what `publish` gave. NoManagerError if no other subject manages the record. */
  async withdraw({ tenantId }: Caller, type: ResourceType, id: number): Promise<void> {
    const managers = (await this.repository.of(tenantId, type, id))
      .filter(({ level }) => level === LEVELS.manage)
      .map(({ subject }) => subject);
    if (managers.join() === TENANT_SUBJECT) throw new NoManagerError();
    await this.repository.remove(tenantId, type, id, [TENANT_SUBJECT]);
    await this.revision.incrementAccess(tenantId);
  }

  /** Throws ReadersPermissionError or UnknownSubjectError. */
  async requireReaders(caller: Caller, readers: readonly string[] = []): Promise<void> {
    if (!mayAny(caller, [MAY_GRANT])) throw new ReadersPermissionError();
    await this.repository.requireSubjects(caller.tenantId, readers);
  }

  /**
   * Makes these the readers of a document; null: those of its base. Call it in the transaction that adds or changes the
   * document. Answers the subjects that were added and removed.
   */
  async setReaders(
    caller: Caller,
    documentId: number,
    readers: readonly string[] | null,
  ): Promise<{ granted: string[]; removed: string[] }> {
    const { tenantId } = caller;
    await this.repository.lockBase(tenantId, documentId);
    const before = (await this.repository.of(tenantId, 'document', documentId)).map(
      ({ subject }) => subject,
    );
    const granted = (readers ?? []).filter((subject) => !before.includes(subject));
    const removed = before.filter((subject) => !readers?.includes(subject));
    await this.repository.put(
      caller,
      'document',
      documentId,
      granted.map((subject) => ({ subject, level: LEVELS.read })),
    );
    await this.repository.remove(tenantId, 'document', documentId, removed);
    await this.repository.restrict(tenantId, documentId, readers !== null);
    return { granted, removed };
  }

  /** The readers of a document; null: those of its base. */
  async readersOf({ tenantId }: Caller, documentId: number): Promise<readonly string[] | null> {
    const document = await this.repository.document(tenantId, documentId, null);
    if (!document?.restricted) return null;
    const grants = await this.repository.of(tenantId, 'document', documentId);
    return grants.map(({ subject }) => subject);
  }

  /** The ids among these on which the caller has the level, within the limit of their API key. */
  async reachable(
    caller: Caller,
    type: ResourceType,
    level: GrantLevel,
    ids: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const levels = [...(await this.levels(caller, type, ids))];
    return new Set(levels.flatMap(([id, highest]) => (includes(highest, level) ? [id] : [])));
  }

  /** The highest level of the caller on each of the ids that they reach, within the limit of their API key. */
  async levels(
    caller: Caller,
    type: ResourceType,
    ids: readonly number[],
  ): Promise<ReadonlyMap<number, GrantLevel>> {
    const { keyLimit } = resourceOf(type);
    const within = keyLimit ? ids.filter((id) => isWithinKey(caller, keyLimit, id)) : ids;
    const subjects = comparedSubjects(caller);
    if (subjects === null) return new Map(within.map((id) => [id, 'manage']));
    if (within.length === 0) return new Map();
    return this.repository.levels(caller.tenantId, type, within, subjects);
  }

  /** The subjects of each record of the type, for a cache that is valid for one revision of the tenant. */
  async subjectsByRecord(
    tenantId: string,
    type: ResourceType,
  ): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const subjects = new Map<number, Set<string>>();
    for (const { id, subject } of await this.repository.ofType(tenantId, type)) {
      const ofRecord = subjects.get(id);
      if (ofRecord) ofRecord.add(subject);
      else subjects.set(id, new Set([subject]));
    }
    return subjects;
  }
}

/** Whether a level is at least another. */
function includes(level: GrantLevel, needed: GrantLevel): boolean {
  return LEVELS[level] >= LEVELS[needed];
}

/** Whether the caller has one of the subjects of a record, as `subjectsByRecord` has them. */
export function isAmong(subjects: ReadonlySet<string> | undefined, caller: Grantee): boolean {
  const compared = comparedSubjects(caller);
  return compared === null || compared.some((one) => subjects?.has(one));
}
