import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { isEnded } from '../../protocol/run.state.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import { EffectRepository } from '../../store/effect.repository.js';
import { RunNotFoundError, SessionNotFoundError } from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { RunInputRepository } from '../../store/run-input.repository.js';
import { RunRepository } from '../../store/run.repository.js';
import { SessionRepository } from '../../store/session.repository.js';
import type { SessionRow } from '../../store/session.repository.js';
import type { RunListQuery } from './run.dto.js';
import { toRunView } from './run.view.js';
import type { RunParts, RunView } from './run.view.js';

const PAGE_SIZE = 100;
const NOTHING = { inputs: [], approvals: [] };

/** Sessions and runs, each visible to its user and to super administrators who act in the tenant. */
@Injectable()
export class RunService {
  constructor(
    private readonly sessions: SessionRepository,
    private readonly runs: RunRepository,
    private readonly inputs: RunInputRepository,
    private readonly approvals: ApprovalRepository,
    private readonly effects: EffectRepository,
  ) {}

  /** The session, deleted or not; NotFoundError unless the caller may see it. */
  async sessionOf(caller: Caller, sessionId: string): Promise<SessionRow> {
    const session = await this.sessions.find(caller.tenantId, sessionId);
    const mayRead = session && (session.userId === caller.userId || isSuperAdmin(caller));
    if (!mayRead) throw new SessionNotFoundError();
    return session;
  }

  /** The run with its session; NotFoundError unless the caller may see both. */
  async own(
    caller: Caller,
    sessionId: string,
    runId: string,
  ): Promise<{ session: SessionRow; run: HarnessRun }> {
    const session = await this.sessionOf(caller, sessionId);
    return { session, run: await this.find(session, runId) };
  }

  /** The run as it is now, with everything that waits for a person; for a session that the caller may see. */
  async view(session: SessionRow, runId: string): Promise<RunView> {
    const run = await this.find(session, runId);
    const [effects, waiting] = await Promise.all([
      this.effects.openOf(run.tenantId, [run.id]),
      this.waiting(run),
    ]);
    return toRunView(run, { ...waiting, effects, model: session.modelName });
  }

  /** The runs of a session, the newest first. What was said is shown with the unfinished one alone. */
  async list(session: SessionRow, query: RunListQuery): Promise<RunView[]> {
    const { pageNum = 1, pageSize: limit = PAGE_SIZE } = query;
    const page = { limit, offset: (pageNum - 1) * limit };
    const runs = await this.runs.page(session.tenantId, session.id, page);
    const ids = runs.map(({ id }) => id);
    const effects = await this.effects.openOf(session.tenantId, ids);
    // A session has one unfinished run at most, and an ended one waits for nothing.
    const live = runs.find(({ status }) => !isEnded(status));
    const waiting = live ? await this.waiting(live) : NOTHING;
    return runs.map((run) =>
      toRunView(run, {
        ...(run === live ? waiting : NOTHING),
        effects: effects.filter(({ runId }) => runId === run.id),
        model: session.modelName,
      }),
    );
  }

  private async find({ tenantId, id }: SessionRow, runId: string): Promise<HarnessRun> {
    const run = await this.runs.find(tenantId, id, runId);
    if (!run) throw new RunNotFoundError();
    return run;
  }

  private async waiting(run: HarnessRun): Promise<Pick<RunParts, 'inputs' | 'approvals'>> {
    const [inputs, approvals] = await Promise.all([
      // What a run has not taken in when it ends stays visible: its author may send it again.
      this.inputs.pending(run),
      isEnded(run.status) ? [] : this.approvals.ofRun(run),
    ]);
    return { inputs, approvals: approvals.filter(({ state }) => state === 'PENDING') };
  }
}
