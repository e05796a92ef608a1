import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { ConflictError } from '../../../platform/error/index.js';
import { Answers, AnswersArray, LargeBody, NoBody } from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import { newId, requestHash } from '../../protocol/values.js';
import { requireWrite } from '../../protocol/policy.js';
import { isEnded } from '../../protocol/run.state.js';
import { IdempotencyConflictError, SessionDeletedError } from '../../store/errors.js';
import { RunInputRepository } from '../../store/run.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import { UuidPipe } from '../identifiers.js';
import {
  CreateRunBody,
  MAX_PENDING_INPUTS,
  MAX_PENDING_BYTES,
  RunInputBody,
  RunListQuery,
  CancelledRunView,
  RunView,
} from './run.dto.js';
import { RunService } from './run.service.js';

/** Routes check coding:harness:write themselves unless the session is READ_ONLY. */
@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs')
@RequirePermission('coding:harness:use')
export class RunController {
  constructor(
    private readonly runs: RunService,
    private readonly ending: RunEnding,
    private readonly inputs: RunInputRepository,
    private readonly ledger: RunLedger,
    private readonly audit: AuditLog,
  ) {}

  /** Starts a run; one at a time in a session. Needs coding:harness:write, too. */
  @Post()
  @LargeBody()
  @Answers(RunView)
  async create(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Body() body: CreateRunBody,
  ): Promise<RunView> {
    const session = await this.runs.sessionOf(caller, sessionId);
    return this.runs.create(caller, session, body);
  }

  /** The runs of a session, newest first. */
  @Get()
  @AnswersArray(RunView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Query() query: RunListQuery,
  ): Promise<RunView[]> {
    return this.runs.list(await this.runs.sessionOf(caller, sessionId), query);
  }

  /** One run as it is now. */
  @Get(':runId')
  @Answers(RunView)
  async get(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunView> {
    return this.runs.view(await this.runs.sessionOf(caller, sessionId), runId);
  }

  /** Sends an input to a run, or answers its question. Needs coding:harness:write, too. */
  @Post(':runId/inputs')
  @LargeBody()
  @Answers(RunView)
  async addInput(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: RunInputBody,
  ): Promise<RunView> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    requireWrite(caller, run);
    const stored = await this.ledger.updateRun(run.tenantId, run.id, (writer) => {
      return this.store(writer, body, session.deletedAt !== null);
    });
    const { kind, content: requirement, idempotencyKey } = body;
    if (stored === 'ended' && kind === 'FOLLOW_UP') {
      // Keys of inputs are the run's own, and must not meet those of the session's runs.
      const key = requestHash([runId, idempotencyKey]);
      // The new run has the limits of the first one.
      const { modelName: model, permissionMode } = run;
      const body = { requirement, idempotencyKey: key, model, permissionMode };
      return this.create(caller, sessionId, body);
    }
    const view = await this.runs.view(session, runId);
    if (stored === 'ended') throw new RunEndedError(view.status);
    return stored === 'replayed' ? { ...view, replayed: true } : view;
  }

  /** Cancels a run, from every state. */
  @Post(':runId/cancel')
  @NoBody()
  @Answers(CancelledRunView)
  async cancel(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<CancelledRunView> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    const { changed } = await this.ending.requestCancel(caller, run);
    if (changed) {
      const detail = { sessionId, cancelled: true };
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_run',
        id: runId,
        detail,
      });
    }
    return { ...(await this.runs.view(session, runId)), changed };
  }

  /** Resumes a run that is SUSPENDED because its model service was unavailable. Needs coding:harness:write, too. */
  @Post(':runId/resume')
  @NoBody()
  @Answers(RunView)
  async resume(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunView> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    requireWrite(caller, run);
    if (session.deletedAt) throw new SessionDeletedError();
    await this.ledger.updateRun(run.tenantId, run.id, (writer) => {
      const { status, waitKind } = writer.current;
      if (waitKind === 'EFFECT') throw new EffectsUnresolvedError();
      if (waitKind !== 'PROVIDER') throw new NotResumableError(status);
      writer.set({ errorCode: null, errorMessage: null });
      writer.enqueue('resumed');
    });
    return this.runs.view(session, runId);
  }

  /**
   * Stores an input until the run consumes it; a run that waits for an answer resumes with a STEER. Nothing is stored for
   * a run that has ended: a FOLLOW_UP starts a new run then. The same key with the same body is the same input, also
   * when the run has ended without it: its view shows it among pendingInputs.
   */
  private async store(
    writer: RunWriter,
    { kind, content, idempotencyKey }: RunInputBody,
    deleted: boolean,
  ): Promise<'stored' | 'replayed' | 'ended'> {
    const { run } = writer;
    const idempotencyHash = requestHash([kind, content]);
    const earlier = await this.inputs.byKey(run, idempotencyKey);
    if (earlier) {
      if (earlier.idempotencyHash !== idempotencyHash) throw new IdempotencyConflictError();
      return 'replayed';
    }
    if (deleted) throw new SessionDeletedError();
    if (isEnded(run.status)) return 'ended';
    const { count, bytes } = await this.inputs.pendingSize(run);
    if (count >= MAX_PENDING_INPUTS) throw new InputsFullError(msg`${MAX_PENDING_INPUTS} inputs`);
    if (bytes + Buffer.byteLength(content) > MAX_PENDING_BYTES) {
      throw new InputsFullError(msg`${MAX_PENDING_BYTES} bytes`);
    }
    const { tenantId, id: runId } = run;
    const id = newId();
    await this.inputs.insert({
      id,
      tenantId,
      runId,
      kind,
      content,
      idempotencyKey,
      idempotencyHash,
    });
    writer.event('input.queued', { inputId: id, kind, content: shownOf(content) });
    if (kind === 'STEER' && writer.current.waitKind === 'QUESTION') {
      writer.enqueue('question_answered');
    }
    return 'stored';
  }
}

/** Characters of an input that its event shows. */
const MAX_EVENT_CHARS = 2_000;

function shownOf(content: string): string {
  const characters = [...content.slice(0, 2 * MAX_EVENT_CHARS)];
  if (characters.length <= MAX_EVENT_CHARS) return content;
  return `${characters.slice(0, MAX_EVENT_CHARS).join('')}…`;
}

class RunEndedError extends ConflictError {
  constructor(status: string) {
    super(msg`The run is ${status} already. Send a FOLLOW_UP, or start a new run.`, {
      data: { errorCode: 'RUN_ENDED', status },
    });
  }
}

/** Pending inputs must be consumed before more are accepted. */
class InputsFullError extends ConflictError {
  constructor(limit: Message) {
    super(
      msg`The run has not yet taken in what was said to it, and no more than ${limit} may wait. Say it again when the run has gone on.`,
      { data: { errorCode: 'TOO_LARGE' } },
    );
  }
}

class NotResumableError extends ConflictError {
  constructor(status: string) {
    super(
      msg`The run is ${status}. Only a run that is SUSPENDED because its model service was unavailable can be resumed.`,
      { data: { errorCode: 'NOT_RESUMABLE', status } },
    );
  }
}

class EffectsUnresolvedError extends ConflictError {
  constructor() {
    super(msg`The run has uncertain tool calls. Resolve each of them, or cancel the run.`, {
      data: { errorCode: 'EFFECTS_UNRESOLVED' },
    });
  }
}
