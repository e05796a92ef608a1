import { basename } from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { newId } from '../../protocol/ids.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { HarnessModels } from './harness.models.js';
import { requestHash } from './request.hash.js';
import type { CreateHarnessSessionBody } from './session.dto.js';
import { IdempotencyConflictError } from '../../store/session.errors.js';
import { SessionRepository } from '../../store/session.repository.js';
import type { NewSession } from '../../store/session.repository.js';
import { toHarnessSessionView } from './session.view.js';
import type { HarnessSessionView } from './session.view.js';
import { requireWrite } from '../../protocol/policy.js';

const LONGEST_TITLE = 200;

/** Creates sessions: who may, where, and with which model. */
@Injectable()
export class SessionCreation {
  constructor(
    private readonly sessions: SessionRepository,
    private readonly roots: WorkspaceRoots,
    private readonly models: HarnessModels,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

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
      if (!earlier) throw new Error('A session is neither new nor there.');
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
}
