import { basename } from 'node:path';
import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, isSuperAdmin, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import {
  Answers,
  AnswersArray,
  Flag,
  flag,
  Input,
  integer,
  NoBody,
  nullable,
  OneOf,
  oneOf,
  optional,
  StrictFields,
  Text,
  text,
  timestamp,
  uuid,
  View,
  Whole,
} from '../../../platform/http/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import { newId, requestHash } from '../../protocol/values.js';
import {
  APPROVAL_POLICIES,
  PERMISSION_MODES,
  PLAN_POLICIES,
  requireWrite,
} from '../../protocol/policy.js';
import { IdempotencyConflictError } from '../../store/errors.js';
import { SessionRepository } from '../../store/run.repository.js';
import type { NewSession, SessionRow } from '../../store/run.repository.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { MAX_KEY_CHARS, UuidPipe } from '../identifiers.js';
import { HarnessModels, RunService } from '../run/run.service.js';

const MAX_PAGE_SIZE = 1_000;
const MAX_TITLE_CHARS = 200;
/** Files of a plan that needs no review under ABOVE_FILES, unless the request says otherwise. */
const USUAL_PLAN_FILES = 3;
const MAX_PLAN_FILES = 200;

@StrictFields()
export class CreateHarnessSessionBody extends Input({
  workspacePath: Text({
    optional: true,
    max: 4_096,
    description: 'A folder below one of the configured roots; the tenant’s own when not given',
    example: '/srv/workspaces/shop',
  }),
  model: Text({
    max: 200,
    description: 'modelName of a chat model that can call tools',
    example: 'gpt-4o-mini',
  }),
  permissionMode: OneOf(PERMISSION_MODES, { description: 'What runs may do at all' }),
  approvalPolicy: OneOf(APPROVAL_POLICIES, {
    optional: true,
    description: 'ON_REQUEST when not given; NEVER: what would be asked is denied',
  }),
  planPolicy: OneOf(PLAN_POLICIES, {
    optional: true,
    description:
      'Which plans are reviewed under ON_REQUEST; ALWAYS when not given. A plan without review allows no file: each edit is asked for',
  }),
  planFiles: Whole({
    optional: true,
    min: 0,
    max: MAX_PLAN_FILES,
    description: `ABOVE_FILES: files of a plan that needs no review; ${USUAL_PLAN_FILES} when not given`,
  }),
  title: Text({
    optional: true,
    max: MAX_TITLE_CHARS,
    description: 'The workspace’s name when not given',
  }),
  idempotencyKey: Text({
    max: MAX_KEY_CHARS,
    description: 'The same key with the same body is the same session',
  }),
}) {}

@StrictFields()
export class RenameHarnessSessionBody extends Input({
  title: Text({ max: MAX_TITLE_CHARS, description: 'New name' }),
}) {}

@StrictFields()
export class PinSessionBody extends Input({
  pinned: Flag({ description: 'Pinned sessions come first in the list' }),
}) {}

export class HarnessSessionListQuery extends Input({
  deleted: Flag({ optional: true, description: 'The deleted sessions instead of the others' }),
  userId: Whole({
    optional: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Of this user instead of the caller, for super administrators',
  }),
  pageNum: Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' }),
  pageSize: Whole({
    optional: true,
    min: 1,
    max: 1_000,
    description: 'Sessions a page; 1000 by default',
  }),
}) {}

const SCHEMA_VERSION = 5;

/** A session as existing clients parse it; times are milliseconds since the epoch. */
export class HarnessSessionView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  sessionId: uuid(),
  tenantId: text({ example: '000000' }),
  userId: integer({ example: 1 }),
  workspace: text({ description: 'Canonical path of the folder', example: '/srv/workspaces/shop' }),
  model: text({ description: 'modelName', example: 'gpt-4o-mini' }),
  permissionMode: oneOf(PERMISSION_MODES),
  approvalPolicy: oneOf(APPROVAL_POLICIES),
  planPolicy: oneOf(PLAN_POLICIES),
  planFiles: integer({
    example: 0,
    description: 'ABOVE_FILES: plans of up to so many files need no review',
  }),
  title: text({ example: 'shop' }),
  activeRunId: nullable(uuid({ description: 'The unfinished run' })),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  revision: integer({ example: 1 }),
  pinnedAt: nullable(timestamp()),
  deletedAt: nullable(timestamp()),
  replayed: optional(flag({ description: 'The request was a repetition' })),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/sessions')
@RequirePermission('coding:harness:use')
export class HarnessSessionController {
  constructor(
    private readonly runs: RunService,
    private readonly sessions: SessionRepository,
    private readonly roots: WorkspaceRoots,
    private readonly models: HarnessModels,
    private readonly ending: RunEnding,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Creates a session. Any permissionMode but READ_ONLY needs coding:harness:write, too. */
  @Post()
  @Answers(HarnessSessionView)
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateHarnessSessionBody,
  ): Promise<HarnessSessionView> {
    requireWrite(caller, body);
    const { workspacePath, model, permissionMode, approvalPolicy = 'ON_REQUEST', title } = body;
    const { tenantId, userId, homeTenantId } = caller;
    const { idempotencyKey } = body;
    const { planPolicy = 'ALWAYS' } = body;
    const planFiles = planPolicy === 'ABOVE_FILES' ? (body.planFiles ?? USUAL_PLAN_FILES) : 0;
    const fields = [workspacePath, model, permissionMode, approvalPolicy, title];
    // A request without them is the same as before there were any.
    const plans = planPolicy === 'ALWAYS' ? [] : [planPolicy, planFiles];
    const idempotencyHash = requestHash([...fields, ...plans]);
    const earlier = await this.replay({ tenantId, userId, idempotencyKey, idempotencyHash });
    if (earlier) return earlier;
    const workspace = await this.roots.resolve(tenantId, workspacePath);
    const { modelName } = await this.models.forSession(caller, model);
    return this.insert(caller, {
      id: newId(),
      tenantId,
      userId,
      homeTenantId,
      modelName,
      permissionMode,
      approvalPolicy,
      planPolicy,
      planFiles,
      title: (title?.trim() || basename(workspace.path)).slice(0, MAX_TITLE_CHARS).toWellFormed(),
      workspace: workspace.path,
      workspaceIdentity: workspace.identity,
      idempotencyKey,
      idempotencyHash,
    });
  }

  /** The caller's own sessions, or for super administrators those of a user; pinned ones first, newest first. */
  @Get()
  @AnswersArray(HarnessSessionView)
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: HarnessSessionListQuery,
  ): Promise<HarnessSessionView[]> {
    const { deleted = false, pageNum = 1, pageSize: limit = MAX_PAGE_SIZE } = query;
    const { userId = caller.userId } = query;
    // Records of other users are not visible.
    if (userId !== caller.userId && !isSuperAdmin(caller)) return [];
    const page = { deleted, limit, offset: (pageNum - 1) * limit };
    const rows = await this.sessions.page(caller.tenantId, userId, page);
    return rows.map((row) => toHarnessSessionView(row));
  }

  /** One session, deleted or not. */
  @Get(':sessionId')
  @Answers(HarnessSessionView)
  async get(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    return toHarnessSessionView(await this.runs.sessionOf(caller, sessionId));
  }

  @Put(':sessionId/title')
  @Answers(HarnessSessionView)
  async rename(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Body() { title }: RenameHarnessSessionBody,
  ): Promise<HarnessSessionView> {
    const { tenantId, id } = await this.runs.sessionOf(caller, sessionId);
    await this.sessions.rename(tenantId, id, title.trim().toWellFormed());
    return this.get(caller, sessionId);
  }

  /** Keeps the session at the top of the list, or unpins it. */
  @Put(':sessionId/pin')
  @Answers(HarnessSessionView)
  async pin(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Body() { pinned }: PinSessionBody,
  ): Promise<HarnessSessionView> {
    const { tenantId, id } = await this.runs.sessionOf(caller, sessionId);
    await this.sessions.setPinned(tenantId, id, pinned);
    return this.get(caller, sessionId);
  }

  /** Hides the session and cancels its unfinished run. */
  @Delete(':sessionId')
  @NoBody()
  @Answers(HarnessSessionView)
  async remove(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    await this.setDeleted(caller, sessionId, true);
    // Cancels after the deletion, because a run's row is locked before its session's and no new run begins in a deleted
    // session. A repeated request cancels a run that is still unfinished.
    const { tenantId, activeRunId } = await this.runs.sessionOf(caller, sessionId);
    if (activeRunId) await this.ending.requestCancel(caller, { tenantId, id: activeRunId });
    return this.get(caller, sessionId);
  }

  /** Restores a deleted session. */
  @Post(':sessionId/restore')
  @NoBody()
  @Answers(HarnessSessionView)
  async restore(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<HarnessSessionView> {
    await this.setDeleted(caller, sessionId, false);
    return this.get(caller, sessionId);
  }

  private async setDeleted(caller: Caller, sessionId: string, deleted: boolean): Promise<void> {
    const { tenantId, id } = await this.runs.sessionOf(caller, sessionId);
    await this.database.transaction(async () => {
      if (!(await this.sessions.setDeleted(tenantId, id, deleted))) return;
      const entry = deleted
        ? { action: 'delete' as const }
        : { action: 'update' as const, detail: { fields: ['deletedAt'] } };
      await this.audit.record(caller, { ...entry, target: 'harness_session', id });
    });
  }

  /** The unique index lets only one of several simultaneous requests with one key create the session. */
  private async insert(caller: Caller, session: NewSession): Promise<HarnessSessionView> {
    const { id, tenantId, modelName: model, permissionMode, approvalPolicy, planPolicy } = session;
    return this.database.transaction(async () => {
      if (await this.sessions.insert(session)) {
        const detail = { model, permissionMode, approvalPolicy, planPolicy };
        await this.audit.record(caller, {
          action: 'create',
          target: 'harness_session',
          id,
          detail,
        });
        const row = await this.sessions.find(tenantId, id);
        if (row) return toHarnessSessionView(row);
      }
      const earlier = await this.replay(session);
      if (!earlier) throw new Error('The session was neither created nor found.');
      return earlier;
    });
  }

  /** The session that the user has created with the key; IdempotencyConflictError when it was with another body. */
  private async replay(
    request: Pick<NewSession, 'tenantId' | 'userId' | 'idempotencyKey' | 'idempotencyHash'>,
  ): Promise<HarnessSessionView | undefined> {
    const row = await this.sessions.byKey(request.tenantId, request.userId, request.idempotencyKey);
    if (!row) return undefined;
    if (row.idempotencyHash !== request.idempotencyHash) throw new IdempotencyConflictError();
    return toHarnessSessionView(row, true);
  }
}

function toHarnessSessionView(row: SessionRow, replayed = false): HarnessSessionView {
  return HarnessSessionView.of({
    ...row,
    schemaVersion: SCHEMA_VERSION,
    sessionId: row.id,
    model: row.modelName,
    createdAt: row.createTime,
    updatedAt: row.updateTime,
    ...(replayed && { replayed }),
  });
}
