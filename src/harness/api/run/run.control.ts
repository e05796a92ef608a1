import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { RunLedger } from '../../store/run.ledger.js';
import { RunEnding } from '../../engine/run.ending.js';
import { SessionDeletedError } from '../../store/session.errors.js';
import { requireWrite } from '../../protocol/policy.js';
import { RunCreation } from './run.creation.js';
import type { CreateRunBody } from './run.dto.js';
import { EffectsUnresolvedError, NotResumableError } from '../../store/run.errors.js';
import { RunService } from './run.service.js';
import type { CancelledRunView, RunView } from './run.view.js';

/** What people do with whole runs. */
@Injectable()
export class RunControl {
  constructor(
    private readonly runs: RunService,
    private readonly creation: RunCreation,
    private readonly ending: RunEnding,
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
}
