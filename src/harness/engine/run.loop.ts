import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { isConnectionFailure } from '../../platform/database/index.js';
import { DomainError, NotFoundError } from '../../platform/error/index.js';
import { UserCallers } from '../../identity/index.js';
import { ModelResolver } from '../../model/index.js';
import { ApprovalService } from './approval.service.js';
import { EffectRepository } from '../store/effect.repository.js';
import { EffectSettlement } from './effect.settlement.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunEnd } from '../store/run-writer.js';
import { FencedError } from '../protocol/lease.js';
import { CancelRequestedError } from '../protocol/run.state.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { SecretMask } from '../store/secret-mask.js';
import { SessionRepository } from '../store/session.repository.js';
import { mayCarryOn } from '../protocol/policy.js';
import { HarnessSkills } from '../context/harness-skills.js';
import type { RunSkills } from '../store/run-skills.js';
import { WorkspaceRoots } from '../workspace/workspace-roots.js';
import { Workspace } from '../workspace/workspace.js';
import { WorkspaceGoneError } from '../workspace/workspace.errors.js';
import type { HeldRun } from './held.run.js';
import { PermissionRevokedError, UnrecordedError, WorkspaceRefusedError } from './loop.errors.js';
import { RunEnding } from './run.ending.js';
import { RunStep } from './run.step.js';
import type { StepTurn } from './run.step.js';

/** Calls in a row that may end without an outcome before the run is given up. */
const UNSETTLED = 3;

/**
 * Carries a run on until it ends, parks, or is taken away: settles what an earlier owner has left, then step by step
 * asks the model and carries out what it calls. Nothing is kept in memory that a new owner could not read from the
 * database.
 */
@Injectable()
export class RunLoop {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly ledger: RunLedger,
    private readonly sessions: SessionRepository,
    private readonly callers: UserCallers,
    private readonly models: ModelResolver,
    private readonly skills: HarnessSkills,
    private readonly roots: WorkspaceRoots,
    private readonly sandbox: Sandbox,
    private readonly mask: SecretMask,
    private readonly settlement: EffectSettlement,
    private readonly effects: EffectRepository,
    private readonly approvals: ApprovalService,
    private readonly step: RunStep,
    private readonly ending: RunEnding,
  ) {}

  /** Resolves when this process has nothing more to do for the run. Never fails. */
  async run(held: HeldRun, run: HarnessRun): Promise<void> {
    try {
      await this.carryOn(held, run);
    } catch (error) {
      await this.settleFailure(held, run, error);
    }
  }

  private async carryOn(held: HeldRun, run: HarnessRun): Promise<void> {
    const session = await this.sessions.find(run.tenantId, run.sessionId);
    if (!session) return;
    const { tenantId, workspace: root, workspaceIdentity } = session;
    await this.roots.check(tenantId, root, workspaceIdentity).catch((error: unknown) => {
      throw error instanceof DomainError ? new WorkspaceRefusedError(error.message) : error;
    });
    const workspace = await Workspace.open(root, workspaceIdentity);
    try {
      if (!(await this.settlement.settle(held, run, workspace))) return;
      const caller = await this.callerOf(run);
      const model = await this.models.resolveChat(caller, session.modelName);
      this.mask.learn([model.connection.credential ?? '']);
      const skills = await this.skillsOf(held, run, workspace);
      const [seen, decided] = await Promise.all([
        this.effects.seenFiles(run),
        this.approvals.decided(run),
      ]);
      const approvals = new Map(decided.map((approval) => [approval.toolCallId, approval]));
      // Right after a start it is still being found out whether commands can be run.
      await this.sandbox.ready();
      await this.steps({ held, session, workspace, caller, model, skills, seen, approvals });
    } finally {
      await workspace.close();
    }
  }

  private async steps(turn: StepTurn): Promise<void> {
    const { held, workspace } = turn;
    let unsettled = 0;
    for (;;) {
      if (held.cause) {
        await this.leave(held);
        return;
      }
      const result = await this.step.take(turn);
      if (result === 'ended' || result === 'parked') return;
      if (result !== 'unsettled') unsettled = 0;
      else {
        unsettled += 1;
        if (unsettled > UNSETTLED)
          throw new Error('A tool call ends again and again without an outcome.');
        const run = await this.ledger.held(held.lease);
        if (!(await this.settlement.settle(held, run, workspace))) return;
      }
    }
  }

  private async skillsOf(held: HeldRun, run: HarnessRun, workspace: Workspace): Promise<RunSkills> {
    const kept = await this.skills.of(run);
    if (kept) return kept;
    const { skills, event } = await this.skills.load(run, workspace.root, held.signal);
    await this.ledger.append(held.lease, [event]);
    return skills;
  }

  /** The user whose run it is, as of now. */
  private async callerOf(run: HarnessRun): Promise<Caller> {
    const { userId, homeTenantId, tenantId } = run;
    const caller = await this.callers.find({ userId, homeTenantId, tenantId });
    if (!caller || !mayCarryOn(caller, run)) throw new PermissionRevokedError();
    return caller;
  }

  /** Ends or gives back a run whose work was stopped. A lost one is somebody else's. */
  private async leave(held: HeldRun): Promise<void> {
    if (held.cause === 'cancelled') await this.cancel(held);
    if (held.cause === 'stopping') await this.giveBack(held);
  }

  private async cancel(held: HeldRun): Promise<void> {
    await this.ledger.asOwner(held.lease, (writer) => this.ending.cancel(writer));
  }

  /** To be taken up by another process. What has begun and has no outcome is left as it is, for the recovery. */
  private async giveBack(held: HeldRun): Promise<void> {
    await this.ledger.asOwner(held.lease, async (writer) => {
      if (writer.current.cancelRequested) {
        await this.ending.cancel(writer);
        return;
      }
      const open = await this.effects.unanswered(writer.run);
      if (open.some(({ state }) => state === 'STARTED')) return;
      if (writer.current.recovering) return;
      writer.enqueue('server_restart');
    });
  }

  private async settleFailure(held: HeldRun, run: HarnessRun, error: unknown): Promise<void> {
    if (error instanceof FencedError || held.cause === 'lost') {
      this.logger.warn({
        msg: 'The lease of a run was lost; another process goes on',
        runId: run.id,
      });
      return;
    }
    if (error instanceof UnrecordedError || isConnectionFailure(error)) {
      // The lease runs out, and whoever takes the run up then looks at what has happened.
      this.logger.error({ msg: 'A run is left to be recovered', runId: run.id, err: error });
      return;
    }
    try {
      // The cancel was seen under the run's lock, before a renewal told of it.
      if (error instanceof CancelRequestedError) await this.cancel(held);
      else if (held.cause) await this.leave(held);
      else await this.end(held, this.endOf(run, error));
    } catch (failure) {
      // The run stays held until its lease ends; then it is taken up again.
      this.logger.error({
        msg: 'A run could not be ended',
        runId: run.id,
        err: failure,
        cause: error,
      });
    }
  }

  private endOf(run: HarnessRun, error: unknown): RunEnd {
    const status = 'FAILED';
    if (error instanceof PermissionRevokedError) {
      const message =
        'The user may no longer use the harness in this way. Ask an administrator, then start a new run.';
      return {
        status,
        stopReason: 'PERMISSION_REVOKED',
        error: { code: 'PERMISSION_REVOKED', message },
      };
    }
    if (error instanceof WorkspaceGoneError || error instanceof WorkspaceRefusedError) {
      return {
        status,
        stopReason: 'WORKSPACE_GONE',
        error: { code: 'WORKSPACE_GONE', message: error.message },
      };
    }
    if (error instanceof DomainError) {
      const isGone = error instanceof NotFoundError || error.code === 404;
      const stopReason = isGone ? 'MODEL_NOT_FOUND' : 'MODEL_REFUSED';
      return { status, stopReason, error: { code: stopReason, message: error.message } };
    }
    this.logger.error({ msg: 'A run failed unexpectedly', runId: run.id, err: error });
    const message = `The run failed for a reason of the server, which its log tells under run ${run.id}. Start a new run; what was changed stays and can be undone.`;
    return { status, stopReason: 'INTERNAL', error: { code: 'INTERNAL', message } };
  }

  private async end(held: HeldRun, end: RunEnd): Promise<void> {
    await this.ledger.asOwner(held.lease, (writer) => this.ending.end(writer, end));
  }
}
