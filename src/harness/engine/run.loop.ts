import { Injectable, Logger } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import { isConnectionFailure } from '../../platform/database/index.js';
import { DomainError, NotFoundError } from '../../platform/error/index.js';
import { closing } from '../../platform/filesystem/index.js';
import { msg } from '../../platform/message/index.js';
import { UserCallers } from '../../identity/index.js';
import { ModelResolver } from '../../model/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { ProviderUnavailableError, UpstreamError } from '../../provider/index.js';
import { ContextBuilder } from '../context/context.builder.js';
import type { ModelRequest } from '../context/context.builder.js';
import { ContextOverflowError } from '../context/compaction.js';
import { HarnessSkills } from '../context/skills.js';
import { CancelRequestedError, FencedError } from '../protocol/run.state.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { ApprovalRepository } from '../store/approval.repository.js';
import { EffectRepository } from '../store/effect.repository.js';
import { stepIdOf } from '../store/event.catalogue.js';
import { MessageRepository } from '../store/message.repository.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunEnd, RunWriter } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import { SessionRepository } from '../store/run.repository.js';
import { WorkspaceGoneError, WorkspaceRoots } from '../workspace/workspace-roots.js';
import { Workspace } from '../workspace/workspace.js';
import { InputIntake } from './input.intake.js';
import { failureOf, ModelCalls } from './model.calls.js';
import type { ModelResult } from './model.calls.js';
import {
  callerOf,
  PermissionRevokedError,
  UnrecordedError,
  WorkspaceRefusedError,
} from './run.context.js';
import type { RunContext, RunLease } from './run.context.js';
import {
  budgetEnd,
  failedEnd,
  loopEnd,
  LOOP_WINDOW,
  loopVerdict,
  refusalEnd,
  RunEnding,
} from './run.ending.js';
import type { LoopFinding } from './run.ending.js';
import { ToolCallRecovery } from './recovery.js';
import type { RecoveryContext } from './recovery.js';
import { ToolCalls } from './tool.calls.js';

/** How often in a row a step may leave a tool call without an outcome before the run fails. */
const MAX_RECOVERIES = 3;
/** So many unusable answers in a row end a run. */
const MAX_UNUSABLE = 5;

/** Results of a model call other than an overflow. */
type EndedCall = Exclude<ModelResult, { readonly kind: 'overflow' }>;

type StepResult = 'next' | 'ended' | 'parked' | 'recover';

/**
 * Works on a claimed run until it ends, parks, or is taken away: recovers what an earlier owner has left, then executes
 * the open tool calls or calls the model, step by step. Nothing is kept in memory that a new owner could not read from
 * the database.
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
    private readonly effects: EffectRepository,
    private readonly approvals: ApprovalRepository,
    private readonly messages: MessageRepository,
    private readonly inputs: InputIntake,
    private readonly recovery: ToolCallRecovery,
    private readonly contexts: ContextBuilder,
    private readonly model: ModelCalls,
    private readonly tools: ToolCalls,
    private readonly ending: RunEnding,
  ) {}

  /** Resolves when this process has nothing more to do for the run. Never fails. */
  async run(lease: RunLease, run: HarnessRun): Promise<void> {
    try {
      await this.work(lease, run);
    } catch (error) {
      await this.handleFailure(lease, run, error);
    }
  }

  private async work(lease: RunLease, run: HarnessRun): Promise<void> {
    const session = await this.sessions.find(run.tenantId, run.sessionId);
    if (!session) return;
    const { tenantId, workspace: root, workspaceIdentity } = session;
    await this.roots.check(tenantId, root, workspaceIdentity).catch((error: unknown) => {
      throw error instanceof DomainError ? new WorkspaceRefusedError(error.message) : error;
    });
    await closing(await Workspace.open(root, workspaceIdentity), async (workspace) => {
      const claimed = { lease, run, workspace };
      if (!(await this.recovery.reconcile(claimed))) return;
      await this.loop(await this.contextOf(claimed));
    });
  }

  private async contextOf(claimed: RecoveryContext): Promise<RunContext> {
    const { lease, run, workspace } = claimed;
    const caller = await callerOf(this.callers, run);
    const model = await this.models.resolveChat(caller, run.modelName);
    const { credential } = model.connection;
    this.mask.learn([credential ?? '']);
    const skills = await this.skills.of(lease.claim, workspace.root, lease.signal);
    const [observedFiles, approvals] = await Promise.all([
      this.effects.seenFiles(run),
      this.approvals.ofOpenCalls(run),
    ]);
    // Right after a start the probe of the sandbox may still be running.
    await this.sandbox.ready();
    return {
      ...claimed,
      caller,
      model,
      skills,
      observedFiles,
      approvals: new Map(approvals.map((approval) => [approval.toolCallId, approval])),
      secrets: credential === undefined ? [] : [credential],
    };
  }

  private async loop(context: RunContext): Promise<void> {
    const { lease } = context;
    let recoveries = 0;
    while (!lease.cause) {
      const result = await this.step(context);
      if (result === 'ended' || result === 'parked') return;
      recoveries = result === 'recover' ? recoveries + 1 : 0;
      if (recoveries > MAX_RECOVERIES) {
        throw new Error('Tool calls repeatedly end without an outcome.');
      }
      if (result === 'recover') {
        context.run = await this.ledger.held(lease.claim);
        if (!(await this.recovery.reconcile(context))) return;
      }
    }
    await this.leave(lease);
  }

  /** The tool calls that are open, or else one call of the model. */
  private async step(context: RunContext): Promise<StepResult> {
    const { lease } = context;
    const { tenantId, runId: id } = lease.claim;
    const [run, open] = await Promise.all([
      this.ledger.held(lease.claim),
      this.effects.unanswered({ tenantId, id }),
    ]);
    context.run = run;
    if (open.length > 0) return this.tools.execute(context, open);
    const [end, hasSteers] = await Promise.all([
      this.stopCondition(context),
      this.inputs.hasSteers(run),
    ]);
    if (end) return this.end(lease, end);
    if (hasSteers) {
      await this.ledger.asOwner(lease.claim, (writer) => this.inputs.consume(writer, 'STEER'));
    }
    return this.callModel(context);
  }

  private async callModel(context: RunContext): Promise<StepResult> {
    const { lease } = context;
    try {
      const gone = await this.model.refresh(context);
      if (gone) return await this.conclude(context, gone);
      const tools = this.tools.offered(context);
      const request = await this.contexts.build({ ...context, tools, signal: lease.signal });
      await this.model.recordCompaction(context, request);
      const result = await this.model.call(context, request);
      if (result.kind === 'overflow') return await this.shorten(context, request, result.error);
      context.hasOverflowed = false;
      return await this.conclude(context, result);
    } catch (error) {
      if (error instanceof ContextOverflowError) {
        return this.end(lease, failedEnd('CONTEXT_OVERFLOW', error.message));
      }
      // The summary of a long conversation is a call of the model, too.
      if (lease.cause !== undefined) throw error;
      if (error instanceof ProviderUnavailableError || error instanceof LimitReachedError) {
        return this.conclude(context, { kind: 'unavailable', error });
      }
      if (error instanceof UpstreamError) return this.conclude(context, failureOf(error));
      throw error;
    }
  }

  /** The next step compacts to half of what was too long; a second time in a row nothing more can be done. */
  private async shorten(
    context: RunContext,
    { tokens }: ModelRequest,
    { message }: UpstreamError,
  ): Promise<StepResult> {
    if (context.hasOverflowed) {
      return this.end(context.lease, failedEnd('CONTEXT_OVERFLOW', stillTooLong(message)));
    }
    context.hasOverflowed = true;
    context.sendLimit = Math.floor(tokens / 2);
    return 'next';
  }

  private async conclude(context: RunContext, result: EndedCall): Promise<StepResult> {
    switch (result.kind) {
      case 'answer':
        return this.model.record(context, result.answer, (writer) => this.complete(writer));
      case 'unusable':
        await this.model.recordUnusable(context, result);
        return 'next';
      case 'unavailable':
        await this.suspend(context.lease, result.error.message);
        return 'parked';
      case 'refused':
        return this.end(context.lease, refusalEnd(result.error));
    }
  }

  /** Ends the run with its last answer, unless the user has sent more input meanwhile. */
  private async complete(writer: RunWriter): Promise<'next' | 'ended'> {
    if (await this.inputs.consume(writer, 'ANY')) return 'next';
    await this.ending.end(writer, { status: 'COMPLETED', stopReason: 'END_TURN' });
    return 'ended';
  }

  /** Why the run must stop: its budget is used up, or its model makes no progress. Warns the model before that. */
  private async stopCondition(context: RunContext): Promise<RunEnd | undefined> {
    const { lease, run } = context;
    const used = budgetEnd(run, lease.activeMs);
    if (used) return used;
    const [unusable, calls] = await Promise.all([
      this.messages.incompleteAtEnd(run.tenantId, run.id, MAX_UNUSABLE),
      this.effects.lastCalls(run, LOOP_WINDOW),
    ]);
    if (unusable >= MAX_UNUSABLE) return loopEnd('format');
    const { warning, stop } = loopVerdict(calls);
    if (stop) return loopEnd(stop.kind);
    // Once: the model may have answered since without a call.
    const isNew = calls.at(-1)?.iteration === run.iteration;
    if (warning && isNew) await this.warn(context, warning);
    return undefined;
  }

  private async warn({ lease, model }: RunContext, finding: LoopFinding): Promise<void> {
    const { kind, count, limit } = finding;
    await this.ledger.asOwner(lease.claim, async (writer) => {
      const stepId = stepIdOf(writer.run.iteration);
      writer.event('loop.warning', { kind, count, limit }, { stepId });
      await this.messages.append(writer.run, {
        role: 'CONTROL',
        content: `${model.modelName}, you repeat yourself (${kind.replace('_', ' ')}, ${count} times; at ${limit} the run is stopped). Use what you know already, or try another way.`,
        metadata: { kind: 'NOTE' },
      });
    });
  }

  private async suspend(lease: RunLease, message: Message): Promise<void> {
    const code = 'model_unavailable';
    await this.ledger.asOwner(lease.claim, (writer) => {
      writer.set({ errorCode: code, errorMessage: message });
      writer.park('PROVIDER');
      writer.event('run.suspended', { ...writer.statusData, waitKind: 'PROVIDER', code, message });
    });
  }

  private async end(lease: RunLease, end: RunEnd): Promise<'ended'> {
    await this.ledger.asOwner(lease.claim, (writer) => this.ending.end(writer, end));
    return 'ended';
  }

  private async cancel(lease: RunLease): Promise<void> {
    await this.ledger.asOwner(lease.claim, (writer) => this.ending.cancel(writer));
  }

  /** Ends a cancelled run, or gives it back because the process stops. A lost run belongs to another process. */
  private async leave(lease: RunLease): Promise<void> {
    if (lease.cause === 'cancelled') await this.cancel(lease);
    if (lease.cause === 'stopping') await this.giveBack(lease);
  }

  /** Queues the run for another process. One with a tool call that has begun is left to recovery as it is. */
  private async giveBack(lease: RunLease): Promise<void> {
    await this.ledger.asOwner(lease.claim, async (writer) => {
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

  private async handleFailure(lease: RunLease, run: HarnessRun, error: unknown): Promise<void> {
    const { id: runId } = run;
    if (error instanceof FencedError || lease.cause === 'lost') {
      this.logger.warn({ msg: 'Run lease lost', runId });
      return;
    }
    if (error instanceof UnrecordedError || isConnectionFailure(error)) {
      // The lease runs out, and the next owner reconciles what has happened.
      this.logger.error({ msg: 'Run left for recovery', runId, err: error });
      return;
    }
    try {
      // The cancel was seen under the run's lock, before a renewal reported it.
      if (error instanceof CancelRequestedError) await this.cancel(lease);
      else if (lease.cause) await this.leave(lease);
      else if (error instanceof ProviderUnavailableError) await this.suspend(lease, error.message);
      else await this.end(lease, this.endOf(run, error));
    } catch (failure) {
      // The run stays held until its lease ends; then it is claimed again.
      this.logger.error({ msg: 'Failed to end run', runId, err: failure, cause: error });
    }
  }

  private endOf(run: HarnessRun, error: unknown): RunEnd {
    if (error instanceof PermissionRevokedError) {
      return failedEnd(
        'PERMISSION_REVOKED',
        msg`The user no longer has the permission for this run. Ask an administrator, then start a new run.`,
      );
    }
    if (error instanceof WorkspaceGoneError || error instanceof WorkspaceRefusedError) {
      return failedEnd('WORKSPACE_GONE', error.message);
    }
    if (error instanceof DomainError) {
      const isGone = error instanceof NotFoundError || error.code === 404;
      return failedEnd(isGone ? 'MODEL_NOT_FOUND' : 'MODEL_REFUSED', error.message);
    }
    this.logger.error({ msg: 'Run failed unexpectedly', runId: run.id, err: error });
    return failedEnd(
      'INTERNAL',
      msg`The run failed because of an internal error; see the server log for run ${run.id}. Changes made so far are kept and can be undone; start a new run to continue.`,
    );
  }
}

function stillTooLong(message: Message): Message {
  return msg`${message} The conversation was compacted and is still too long. Start a new run with a smaller task or fewer files at once, or with a model of a larger window.`;
}
