import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run-writer.js';
import { newId, requestHash } from '../../protocol/ids.js';
import { isEnded } from '../../protocol/run.state.js';
import { RunInputRepository } from '../../store/run-input.repository.js';
import { MOST_PENDING, MOST_PENDING_BYTES } from './run.limits.js';
import { RunEnding } from '../../engine/run.ending.js';
import {
  EffectsUnresolvedError,
  IdempotencyConflictError,
  InputsFullError,
  NotResumableError,
  RunEndedError,
  SessionDeletedError,
} from '../../store/errors.js';
import { requireWrite } from '../../protocol/policy.js';
import { RunCreation } from './run.creation.js';
import type { CreateRunBody, RunInputBody } from './run.dto.js';
import { RunService } from './run.service.js';
import type { CancelledRunView, RunView } from './run.view.js';

type StoredInput = 'stored' | 'replayed' | 'ended';

/** Creates, cancels and resumes runs, and takes inputs for them. */
@Injectable()
export class RunControl {
  constructor(
    private readonly runs: RunService,
    private readonly creation: RunCreation,
    private readonly ending: RunEnding,
    private readonly inputs: RunInputRepository,
    private readonly ledger: RunLedger,
    private readonly audit: AuditLog,
  ) {}

  async create(caller: Caller, sessionId: string, body: CreateRunBody): Promise<RunView> {
    const session = await this.runs.sessionOf(caller, sessionId);
    const { runId, replayed } = await this.creation.create(caller, session, body);
    const view = await this.runs.view(session, runId);
    return replayed ? { ...view, replayed } : view;
  }

  /** Cancels from every state; `changed` is false for a run that is over, or is being cancelled already. */
  async cancel(caller: Caller, sessionId: string, runId: string): Promise<CancelledRunView> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    const { changed } = await this.ending.requestCancel(caller, run);
    if (changed) {
      const detail = { sessionId, cancelled: true };
      await this.audit.record(caller, {
        ...{ action: 'status-change', target: 'harness_run', id: runId, detail },
      });
    }
    return { ...(await this.runs.detail(caller, sessionId, runId)), changed };
  }

  /** Puts a run back into the queue whose model service had stayed unavailable. */
  async resume(caller: Caller, sessionId: string, runId: string): Promise<RunView> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    requireWrite(caller, session);
    if (session.deletedAt) throw new SessionDeletedError();
    await this.ledger.asOther(run.tenantId, run.id, (writer) => {
      const { status, waitKind } = writer.current;
      if (waitKind === 'EFFECT') throw new EffectsUnresolvedError();
      if (waitKind !== 'PROVIDER') throw new NotResumableError(status);
      writer.set({ errorCode: null, errorMessage: null });
      writer.enqueue('resumed');
    });
    return this.runs.detail(caller, sessionId, runId);
  }

  /**
   * Stores an input until the run consumes it; a run that waits for an answer resumes with a STEER. A FOLLOW_UP to a run
   * that is over starts a new run, whose view is answered; a STEER is a RunEndedError then. The same key with the
   * same body is the same input, also when the run has ended without it: its view shows it among pendingInputs.
   */
  async addInput(
    caller: Caller,
    { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
    body: RunInputBody,
  ): Promise<RunView> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    requireWrite(caller, session);
    const stored = await this.ledger.asOther(run.tenantId, run.id, (writer) => {
      return this.store(writer, body, session.deletedAt !== null);
    });
    const { kind, content: requirement, idempotencyKey } = body;
    if (stored === 'ended' && kind === 'FOLLOW_UP') {
      // Keys of inputs are the run's own, and must not meet those of the session's runs.
      const key = requestHash([runId, idempotencyKey]);
      return this.create(caller, sessionId, { requirement, idempotencyKey: key });
    }
    const view = await this.runs.detail(caller, sessionId, runId);
    if (stored === 'ended') throw new RunEndedError(view.status);
    return stored === 'replayed' ? { ...view, replayed: true } : view;
  }

  private async store(
    writer: RunWriter,
    body: RunInputBody,
    deleted: boolean,
  ): Promise<StoredInput> {
    const { run } = writer;
    const { kind, content, idempotencyKey } = body;
    const idempotencyHash = requestHash([kind, content]);
    const earlier = await this.inputs.byKey(run, idempotencyKey);
    if (earlier) {
      if (earlier.idempotencyHash !== idempotencyHash) throw new IdempotencyConflictError();
      return 'replayed';
    }
    if (deleted) throw new SessionDeletedError();
    if (isEnded(run.status)) return 'ended';
    await this.requireRoom(writer, content);
    const id = newId();
    const { tenantId, id: runId } = run;
    await this.inputs.insert({
      ...{ id, tenantId, runId, kind, content, idempotencyKey, idempotencyHash },
    });
    writer.event('input.queued', { inputId: id, kind });
    if (kind === 'STEER' && writer.current.waitKind === 'QUESTION') {
      writer.enqueue('question_answered');
    }
    return 'stored';
  }

  private async requireRoom({ run }: RunWriter, content: string): Promise<void> {
    const { count, bytes } = await this.inputs.pendingSize(run);
    if (count >= MOST_PENDING) throw new InputsFullError(`${MOST_PENDING} inputs`);
    if (bytes + Buffer.byteLength(content) > MOST_PENDING_BYTES) {
      throw new InputsFullError(`${MOST_PENDING_BYTES} bytes`);
    }
  }
}
