import { basename } from 'node:path';
import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import { newId, requestHash } from '../../protocol/ids.js';
import { requireWrite } from '../../protocol/policy.js';
import { IdempotencyConflictError, SessionNotFoundError } from '../../store/errors.js';
import { SessionRepository } from '../../store/session.repository.js';
import type { NewSession, SessionRow } from '../../store/session.repository.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { HarnessModels } from './harness.models.js';
import type { CreateHarnessSessionBody, HarnessSessionListQuery } from './session.dto.js';
import { toHarnessSessionView } from './session.view.js';
import type { HarnessSessionView } from './session.view.js';

const LONGEST_PAGE = 1_000;
const LONGEST_TITLE = 200;

/** The sessions of users, each visible to its user and to super administrators who act in the tenant. */
@Injectable()
export class SessionService {
  constructor(
    private readonly sessions: SessionRepository,
    private readonly roots: WorkspaceRoots,
    private readonly models: HarnessModels,
    private readonly ending: RunEnding,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** The session, deleted or not; NotFoundError unless the caller may see it. */
  async own(caller: Caller, sessionId: string): Promise<SessionRow> {
    const session = await this.sessions.find(caller.tenantId, sessionId);
    const mayRead = session && (session.userId === caller.userId || isSuperAdmin(caller));
    if (!mayRead) throw new SessionNotFoundError();
    return session;
  }

  async detail(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    return toHarnessSessionView(await this.own(caller, sessionId));
  }

  /** The caller's own or those of the user, whom super administrators alone may name: pinned first, newest first. */
  async list(caller: Caller, query: HarnessSessionListQuery): Promise<HarnessSessionView[]> {
    const { deleted = false, pageNum = 1, pageSize: limit = LONGEST_PAGE } = query;
    const { userId = caller.userId } = query;
    // As everywhere, records of others are not visible.
    if (userId !== caller.userId && !isSuperAdmin(caller)) return [];
    const page = { deleted, limit, offset: (pageNum - 1) * limit };
    const rows = await this.sessions.page(caller.tenantId, userId, page);
    return rows.map((row) => toHarnessSessionView(row));
  }

  async pin(caller: Caller, sessionId: string, pinned: boolean): Promise<HarnessSessionView> {
    const { tenantId, id } = await this.own(caller, sessionId);
    await this.sessions.setPinned(tenantId, id, pinned);
    return this.detail(caller, sessionId);
  }

  /**
   * The new session or, for a key that the caller has used with the same body, the session of then. However many ask at
   * once with one key, the unique index lets one of them create it.
   */
  async create(caller: Caller, body: CreateHarnessSessionBody): Promise<HarnessSessionView> {
    requireWrite(caller, body);
    const { workspacePath, model, permissionMode, approvalPolicy = 'ON_REQUEST', title } = body;
    const hash = requestHash([workspacePath, model, permissionMode, approvalPolicy, title]);
    const earlier = await this.replay(caller, body.idempotencyKey, hash);
    if (earlier) return earlier;
    const workspace = await this.roots.resolve(caller.tenantId, workspacePath);
    const { modelName } = await this.models.forSession(caller, model);
    return this.insert(caller, {
      id: newId(),
      tenantId: caller.tenantId,
      userId: caller.userId,
      homeTenantId: caller.homeTenantId,
      title: (title?.trim() || basename(workspace.path)).slice(0, LONGEST_TITLE).toWellFormed(),
      workspace: workspace.path,
      workspaceIdentity: workspace.identity,
      modelName,
      permissionMode,
      approvalPolicy,
      idempotencyKey: body.idempotencyKey,
      idempotencyHash: hash,
    });
  }

  /** Hides the session, then cancels its unfinished run. Asked again, it cancels what is still unfinished. */
  async remove(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    const { tenantId } = await this.own(caller, sessionId);
    await this.database.transaction(async () => {
      if (!(await this.sessions.setDeleted(tenantId, sessionId, true))) return;
      await this.record(caller, 'delete', sessionId);
    });
    // Only now: a run's row is locked before its session's. No new run begins in a session that is deleted.
    const { activeRunId } = await this.own(caller, sessionId);
    if (activeRunId) {
      await this.ending.requestCancel(caller, { tenantId, id: activeRunId });
    }
    return this.detail(caller, sessionId);
  }

  /** Brings a deleted session back, with its runs as they ended. */
  async restore(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    const { tenantId } = await this.own(caller, sessionId);
    await this.database.transaction(async () => {
      if (!(await this.sessions.setDeleted(tenantId, sessionId, false))) return;
      await this.record(caller, 'update', sessionId);
    });
    return this.detail(caller, sessionId);
  }

  private async insert(caller: Caller, session: NewSession): Promise<HarnessSessionView> {
    const { id, tenantId, idempotencyKey, idempotencyHash } = session;
    return this.database.transaction(async () => {
      if (await this.sessions.insert(session)) {
        const { modelName, permissionMode, approvalPolicy } = session;
        const detail = { model: modelName, permissionMode, approvalPolicy };
        await this.audit.record(caller, {
          action: 'create',
          target: 'harness_session',
          id,
          detail,
        });
        const row = await this.sessions.find(tenantId, id);
        if (row) return toHarnessSessionView(row);
      }
      const earlier = await this.replay(caller, idempotencyKey, idempotencyHash);
      if (!earlier) throw new Error('The session was neither created nor found.');
      return earlier;
    });
  }

  private async replay(
    { tenantId, userId }: Caller,
    key: string,
    hash: string,
  ): Promise<HarnessSessionView | undefined> {
    const row = await this.sessions.byKey(tenantId, userId, key);
    if (!row) return undefined;
    if (row.idempotencyHash !== hash) throw new IdempotencyConflictError();
    return toHarnessSessionView(row, true);
  }

  private async record(caller: Caller, action: 'delete' | 'update', id: string): Promise<void> {
    const detail = action === 'update' ? { detail: { fields: ['deletedAt'] } } : {};
    await this.audit.record(caller, { action, target: 'harness_session', id, ...detail });
  }
}
