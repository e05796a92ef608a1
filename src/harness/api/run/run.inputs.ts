import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run-writer.js';
import { newId } from '../../protocol/ids.js';
import { isEnded } from '../../protocol/run.state.js';
import { requestHash } from '../session/request.hash.js';
import { IdempotencyConflictError, SessionDeletedError } from '../../store/session.errors.js';
import { requireWrite } from '../../protocol/policy.js';
import { RunInputRepository } from '../../store/run-input.repository.js';
import { RunControl } from './run.control.js';
import type { RunInputBody } from './run.dto.js';
import { InputsFullError, RunEndedError } from '../../store/run.errors.js';
import { MOST_PENDING, MOST_PENDING_BYTES } from './run.limits.js';
import { RunService } from './run.service.js';
import type { RunView } from './run.view.js';

type Stored = 'stored' | 'replayed' | 'ended';

/** What users say to runs after their requirement. */
@Injectable()
export class RunInputs {
  constructor(
    private readonly runs: RunService,
    private readonly control: RunControl,
    private readonly inputs: RunInputRepository,
    private readonly ledger: RunLedger,
  ) {}

  /**
   * Keeps what was said until the run takes it in; a run that waits for an answer goes on with a STEER. A FOLLOW_UP to
   * a run that is over begins a new one, whose view is answered; a STEER is a RunEndedError then. The same key with the
   * same body is the same input, also when the run has ended without it: its view shows it among pendingInputs.
   */
  async say(
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
      return this.control.create(caller, sessionId, { requirement, idempotencyKey: key });
    }
    const view = await this.runs.detail(caller, sessionId, runId);
    if (stored === 'ended') throw new RunEndedError(view.status);
    return stored === 'replayed' ? { ...view, replayed: true } : view;
  }

  private async store(writer: RunWriter, body: RunInputBody, deleted: boolean): Promise<Stored> {
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
