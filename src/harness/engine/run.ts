import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, isConnectionFailure, isOutage } from '../../platform/database/index.js';
import { Dependencies } from '../../platform/dependency/index.js';
import { DomainError, NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { processId, stateOfProcess } from '../../platform/lease/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { IntervalJob, JobQueue } from '../../platform/queue/index.js';
import type { QueuedJob } from '../../platform/queue/index.js';
import { ATTRIBUTE, OPERATION, traced } from '../../platform/tracing/index.js';
import type { SpanAttributes } from '../../platform/tracing/index.js';
import { english, msg, sentences } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { closing } from '../../platform/filesystem/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { ProviderUnavailableError, UpstreamError } from '../../provider/index.js';
import { ModelNotGrantedError } from '../../model/index.js';
import { ContextOverflowError } from '../context/compaction.js';
import { ContextBuilder } from '../context/context.builder.js';
import type { ModelRequest } from '../context/context.builder.js';
import { failureOf, ModelCalls } from './model.calls.js';
import type { ModelResult } from './model.calls.js';
import { InterruptedCommands, ToolCallRecovery } from './recovery.js';
import {
  PermissionRevokedError,
  RunLease,
  RunOpener,
  UnrecordedError,
  WorkspaceRefusedError,
} from './run.context.js';
import type { RunContext } from './run.context.js';
import {
  budgetEnd,
  failedEnd,
  LOOP_WINDOW,
  loopEnd,
  loopVerdict,
  refusalEnd,
  RunEnding,
} from './run.ending.js';
import type { LoopFinding } from './run.ending.js';
import { ToolCalls } from './tools.js';
import { CancelRequestedError, claimOf, FencedError, isEnded } from '../protocol/run.state.js';
import type { RunClaim } from '../protocol/run.state.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { QueueReason } from '../store/event.catalogue.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RUN_JOB, RunStore } from '../store/run.ledger.js';
import type { RunEnd, RunWriter } from '../store/run.ledger.js';
import type { DueRun } from '../store/run.repository.js';
import type { LeftHolder } from '../store/workspace-lock.repository.js';
import { WorkspaceGoneError } from '../workspace/workspace-roots.js';

/** Maximum number of consecutive steps that leave a tool call without an outcome; then the run fails. */
const MAX_STEPS_WITHOUT_OUTCOME = 3;
/** Maximum number of consecutive unusable answers; then the run ends. */
const MAX_UNUSABLE = 5;

/** Why a run is suspended other than for a tool call: its model service or the user's access to the model is missing. */
type SuspensionCode = 'model_unavailable' | 'access_lost';

const RESUME_WITH_ACCESS = msg`What the run did is kept: resume it when you have access again.`;

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
    private readonly store: RunStore,
    private readonly opener: RunOpener,
    private readonly recovery: ToolCallRecovery,
    private readonly contexts: ContextBuilder,
    private readonly model: ModelCalls,
    private readonly tools: ToolCalls,
    private readonly ending: RunEnding,
  ) {}

  /** Resolves when this process has nothing more to do for the run. Never fails. */
  async run(lease: RunLease, run: HarnessRun): Promise<void> {
    try {
      await traced(
        OPERATION.invokeAgent,
        { parent: run.traceparent ?? undefined, attributes: () => attributesOf(run) },
        () => this.work(lease, run),
      );
    } catch (error) {
      await this.handleFailure(lease, run, error);
    }
  }

  private async work(lease: RunLease, run: HarnessRun): Promise<void> {
    const opened = await this.opener.workspaceOf(run);
    if (!opened) return;
    await closing(opened, async (workspace) => {
      const claimed = { lease, run, workspace };
      if (!(await this.recovery.reconcile(claimed))) return;
      const context = await this.opener.contextOf(claimed);
      const release = this.opener.watch(context);
      try {
        await this.loop(context);
      } finally {
        release();
      }
    });
  }

  private async loop(context: RunContext): Promise<void> {
    const { lease } = context;
    let recoveries = 0;
    while (!lease.cause) {
      const result = await traced('step', {}, async (span) => {
        const outcome = await this.step(context);
        span?.set({ [ATTRIBUTE.outcome]: outcome });
        return outcome;
      });
      if (result === 'ended' || result === 'parked') return;
      recoveries = result === 'recover' ? recoveries + 1 : 0;
      if (recoveries > MAX_STEPS_WITHOUT_OUTCOME) {
        throw new Error('Tool calls repeatedly end without an outcome.');
      }
      if (result === 'recover') {
        context.run = await this.store.ledger.leasedRun(lease.claim);
        if (!(await this.recovery.reconcile(context))) return;
      }
    }
    await this.leave(lease, context.run);
  }

  /** The tool calls that are open, or else one call of the model. */
  private async step(context: RunContext): Promise<StepResult> {
    const { lease } = context;
    const { tenantId, runId: id } = lease.claim;
    const [run, open] = await Promise.all([
      this.store.ledger.leasedRun(lease.claim),
      this.store.messages.unansweredCalls({ tenantId, id }),
    ]);
    context.run = run;
    if (open.length > 0) return this.tools.execute(context, open);
    const [end, hasSteers] = await Promise.all([
      this.stopCondition(context),
      this.store.hasSteers(run),
    ]);
    if (end) return this.end(lease, end);
    if (hasSteers) {
      await this.store.ledger.asOwner(lease.claim, (writer) =>
        this.store.consumeInputs(writer, 'STEER'),
      );
    }
    return this.callModel(context);
  }

  private async callModel(context: RunContext): Promise<StepResult> {
    const { lease } = context;
    try {
      const unavailable = await this.model.refresh(context);
      if (unavailable) return await this.conclude(context, unavailable);
      const tools = this.tools.offered(context);
      const request = await this.contexts.build({ ...context, tools, signal: lease.signal });
      await this.model.recordCompaction(context, request);
      const result = await this.model.call(context, request);
      if (result.kind === 'overflow') return await this.shorten(context, request, result.error);
      context.hasOverflowed = false;
      return await this.conclude(context, result);
    } catch (error) {
      if (error instanceof ContextOverflowError) {
        return this.end(lease, failedEnd('CONTEXT_OVERFLOW', error.userMessage));
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
    { userMessage }: UpstreamError,
  ): Promise<StepResult> {
    if (context.hasOverflowed) {
      return this.end(context.lease, failedEnd('CONTEXT_OVERFLOW', stillTooLong(userMessage)));
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
        await this.suspend(context.lease, 'model_unavailable', result.error.userMessage);
        return 'parked';
      case 'refused':
        return this.end(context.lease, refusalEnd(result.error));
    }
  }

  /** Ends the run with its last answer, unless the user has sent more input meanwhile. */
  private async complete(writer: RunWriter): Promise<'next' | 'ended'> {
    if (await this.store.consumeInputs(writer, 'ANY')) return 'next';
    await this.ending.end(writer, { status: 'COMPLETED', stopReason: 'END_TURN' });
    return 'ended';
  }

  /** Reason why the run must stop: its budget is used up, or its model makes no progress. Warns the model before that. */
  private async stopCondition(context: RunContext): Promise<RunEnd | undefined> {
    const { lease, run } = context;
    const used = budgetEnd(run, lease.activeMs);
    if (used) return used;
    const [unusable, calls] = await Promise.all([
      this.store.messages.incompleteAtEnd(run.tenantId, run.id, MAX_UNUSABLE),
      this.store.effects.lastCalls(run, LOOP_WINDOW),
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
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      const stepId = stepIdOf(writer.run.iteration);
      writer.event('loop.warning', { kind, count, limit }, { stepId });
      await this.store.messages.append(writer.run, {
        role: 'CONTROL',
        content: `${model.modelName}, you repeat yourself (${kind.replace('_', ' ')}, ${count} times; at ${limit} the run is stopped). Use what you know already, or try another way.`,
        metadata: { kind: 'NOTE' },
      });
    });
  }

  private async suspend(lease: RunLease, code: SuspensionCode, message: Message): Promise<void> {
    await this.store.ledger.asOwner(lease.claim, (writer) => {
      writer.set({ errorCode: code, errorMessage: message });
      writer.park('PROVIDER');
      writer.event('run.suspended', {
        ...writer.statusData,
        waitKind: 'PROVIDER',
        code,
        message: english(message),
      });
    });
  }

  private async end(lease: RunLease, end: RunEnd): Promise<'ended'> {
    await this.store.ledger.asOwner(lease.claim, (writer) => this.ending.end(writer, end));
    return 'ended';
  }

  private async cancel(lease: RunLease): Promise<void> {
    await this.store.ledger.asOwner(lease.claim, (writer) => this.ending.cancel(writer));
  }

  /**
   * Ends a cancelled run, gives it back because the process stops, or suspends or ends it because of a lost right. A lost run
   * belongs to another process.
   */
  private async leave(lease: RunLease, run: HarnessRun): Promise<void> {
    if (lease.cause === 'cancelled') await this.cancel(lease);
    if (lease.cause === 'stopping') await this.giveBack(lease, 'server_restart');
    if (lease.cause === 'revoked') await this.leaveRevoked(lease, run);
  }

  /** The right may be back by now. */
  private async leaveRevoked(lease: RunLease, run: HarnessRun): Promise<void> {
    try {
      await this.opener.modelOf(run);
    } catch (error) {
      await this.stop(lease, run, error);
      return;
    }
    await this.giveBack(lease, 'resumed');
  }

  /** Queues the run for another process. One with a tool call that has begun is left to recovery as it is. */
  private async giveBack(lease: RunLease, reason: QueueReason): Promise<void> {
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      if (writer.current.cancelRequested) {
        await this.ending.cancel(writer);
        return;
      }
      const open = await this.store.messages.unansweredCalls(writer.run);
      if (open.some(({ state }) => state === 'STARTED')) return;
      if (writer.current.recovering) return;
      writer.enqueue(reason);
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
      else if (lease.cause) await this.leave(lease, run);
      else await this.stop(lease, run, error);
    } catch (failure) {
      // The run stays leased until its lease ends; then it is claimed again.
      this.logger.error({ msg: 'Failed to end run', runId, err: failure, cause: error });
    }
  }

  /** Suspends a run that can be resumed once the cause is gone, and ends any other. */
  private async stop(lease: RunLease, run: HarnessRun, error: unknown): Promise<void> {
    if (error instanceof ProviderUnavailableError)
      await this.suspend(lease, 'model_unavailable', error.userMessage);
    else if (error instanceof ModelNotGrantedError)
      await this.suspend(lease, 'access_lost', sentences([error.userMessage, RESUME_WITH_ACCESS]));
    else await this.end(lease, this.endOf(run, error));
  }

  private endOf(run: HarnessRun, error: unknown): RunEnd {
    if (error instanceof PermissionRevokedError) {
      return failedEnd(
        'PERMISSION_REVOKED',
        msg`The user no longer has the permission for this run. Ask an administrator, then start a new run.`,
      );
    }
    if (error instanceof WorkspaceGoneError || error instanceof WorkspaceRefusedError) {
      return failedEnd('WORKSPACE_GONE', error.userMessage);
    }
    if (error instanceof DomainError) {
      const isGone = error instanceof NotFoundError || error.code === 404;
      return failedEnd(isGone ? 'MODEL_NOT_FOUND' : 'MODEL_REFUSED', error.userMessage);
    }
    this.logger.error({ msg: 'Run failed unexpectedly', runId: run.id, err: error });
    return failedEnd(
      'INTERNAL',
      msg`The run failed because of an internal error; see the server log for run ${run.id}. Changes made so far are kept and can be undone; start a new run to continue.`,
    );
  }
}

function attributesOf(run: HarnessRun): SpanAttributes {
  return {
    [ATTRIBUTE.operation]: OPERATION.invokeAgent,
    [ATTRIBUTE.agentName]: 'harness',
    [ATTRIBUTE.conversationId]: run.sessionId,
    [ATTRIBUTE.requestModel]: run.modelName,
    [ATTRIBUTE.runId]: run.id,
    [ATTRIBUTE.tenantId]: run.tenantId,
    [ATTRIBUTE.userId]: String(run.userId),
  };
}

function stillTooLong(message: Message): Message {
  return msg`${message} The conversation was compacted and is still too long. Start a new run with a smaller task or fewer files at once, or with a model of a larger window.`;
}

const SWEEP_MS = 15_000;
/** Interval at which cancelled runs that have not ended are polled: a user waits for that. */
const CANCEL_POLL_MS = 1_500;
/** Delay before a run that waited for another is tried again. */
const RETRY_MS = 5_000;
const LEAVING_MS = 50;
/** Delay before the next claim of a run whose workspace was busy or whose user's limit was reached. */
const WAIT_SECONDS = 5;
/** Time that the owner of a cancelled run has to end it before it is ended by force: with the poll, 10 seconds. */
const CANCEL_SECONDS = 8;
const AT_ONCE = 200;

/**
 * Runs what waits for an owner: one process at a time, as many of a user's as are allowed, and one in a workspace. The
 * queue only hints that there may be a run: the claim of the row decides. Every 15 seconds a sweep finds runs that no job
 * has announced and leases of processes that have ended; a faster one finds runs that are cancelled and do not end.
 */
@Injectable()
export class RunWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private readonly running = new Map<string, RunLease>();
  /** Runs that this process claims, has, or is leaving: until it has left one, it must not claim it again. */
  private readonly busy = new Set<string>();
  private readonly attempts = new Attempts(this.logger);
  private readonly sweeps: IntervalJob[] = [];
  private subscriptions: (() => void)[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
    private readonly store: RunStore,
    private readonly loop: RunLoop,
    private readonly ending: RunEnding,
    private readonly commands: InterruptedCommands,
    private readonly dependencies: Dependencies,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'plinth_runs_waiting',
      'Runs of the harness that wait for a process',
      async () => (await store.runs.backlog()).waiting,
    );
    metrics.gauge(
      'plinth_runs_waiting_seconds',
      'How long the oldest of them has been due',
      async () => (await store.runs.backlog()).oldestSeconds,
    );
    metrics.expiredLeases('run', async () => (await store.runs.backlog()).expired);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    this.subscriptions = [
      this.bus.subscribe('harness.cancel', ({ runId }) => {
        // The message is only a hint: the row says whether the run is cancelled.
        this.running.get(runId)?.check();
      }),
      this.bus.subscribe('access.changed', () => this.checkAll()),
      this.bus.onResumed(() => this.checkAll()),
    ];
    // On a server, runs are for the processes that name their folders: one that names none leaves them alone.
    const { embedded, HARNESS_ROOTS } = this.config;
    if (embedded || HARNESS_ROOTS.length > 0) {
      this.queue.handle(RUN_JOB, (job, signal) =>
        inTenant(String(job.data['tenantId']), () => this.process(job, signal)),
      );
    }
    this.repeat(SWEEP_MS, () => this.sweep());
    this.repeat(CANCEL_POLL_MS, () =>
      this.attempts.try('Failed to end cancelled runs', () => this.forceCancels()),
    );
    // Separate from ending cancelled runs, which must not wait for a large workspace.
    this.repeat(CANCEL_POLL_MS, (ending) =>
      this.attempts.try('Failed to release workspaces', () => this.freeLeft(ending)),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    await Promise.all(this.sweeps.map((sweep) => sweep.stop()));
  }

  /** A renewal tells whether the run is cancelled, and its user still enabled. */
  private checkAll(): void {
    for (const lease of this.running.values()) lease.check();
  }

  /** Ends the runs with an approval that is past its time; one whose row is locked is left to the next sweep. */
  async expireDue(): Promise<void> {
    const due = await this.store.approvals.dueRuns(AT_ONCE);
    const runs = due.map(({ tenantId, runId: id }) => ({ tenantId, id }));
    await this.forEach(runs, 'Failed to expire approval', ({ tenantId, id }) =>
      this.store.ledger.tryUpdateRun(tenantId, id, (writer) => this.ending.expire(writer)),
    );
  }

  /** Ends cancelled runs whose owner has not ended them in time. */
  async forceCancels(): Promise<void> {
    const slow = await this.store.runs.slowCancels(CANCEL_SECONDS, AT_ONCE);
    await this.forEach(slow, 'Failed to end cancelled run', ({ tenantId, id }) =>
      this.store.ledger.tryUpdateRun(tenantId, id, async (writer) => {
        if (!isEnded(writer.run.status)) await this.ending.cancel(writer);
      }),
    );
  }

  /**
   * Frees the workspaces of runs that were ended while a process had them, as soon as that process can no longer act, and
   * what its command has left there is removed. Each process frees what it has left itself; `isRunning` says which runs it
   * has not.
   */
  async freeLeft(
    signal: AbortSignal,
    isRunning = (id: string): boolean => this.busy.has(id),
  ): Promise<void> {
    const leftHolders = (await this.store.locks.leftHolders(AT_ONCE)).filter((holder) =>
      isGone(holder, isRunning),
    );
    await this.forEach(leftHolders, 'Failed to release workspace', async (holder) => {
      if (!holder.command) await this.store.locks.releaseUnused(holder);
      else if (await this.store.locks.takeOver(holder, processId)) {
        await this.commands.removeLeftovers(holder, holder.command, signal);
        await this.store.locks.releaseTidied(holder, processId);
      }
    });
  }

  private repeat(intervalMs: number, work: (ending: AbortSignal) => Promise<void>): void {
    const sweep = new IntervalJob(intervalMs, work);
    sweep.runNow();
    this.sweeps.push(sweep);
  }

  private async sweep(): Promise<void> {
    await this.attempts.try('Failed to expire approvals', () => this.expireDue());
    await this.attempts.try('Failed to look for ended processes', () => this.expireLost());
    await this.attempts.try('Failed to look for waiting runs', async () => {
      for (const { id, tenantId } of await this.store.runs.due(AT_ONCE)) {
        await this.queue.add(RUN_JOB, { id, data: { tenantId } });
      }
    });
  }

  /** Expires the leases of processes of this host that have ended, so that their runs are claimed at once. */
  private async expireLost(): Promise<void> {
    const leasedRuns = await this.store.runs.leasedRuns(AT_ONCE);
    const endedLeases = leasedRuns.filter(({ leaseBoot }) => stateOfProcess(leaseBoot) === 'ended');
    await this.forEach(endedLeases, 'Failed to expire lease of ended process', (row) =>
      this.store.runs.expire(row),
    );
  }

  /** Does the work for each run, in its tenant. The failure of one prevents no other. */
  private async forEach<Row extends DueRun>(
    runs: readonly Row[],
    what: string,
    work: (run: Row) => Promise<unknown>,
  ): Promise<void> {
    for (const run of runs) {
      await this.attempts.try(what, () => inTenant(run.tenantId, () => work(run)), run.id);
    }
  }

  private async process({ id, data }: QueuedJob, stopping: AbortSignal): Promise<void> {
    const tenantId = String(data['tenantId']);
    // Without the store the effects of a step could not be recorded. A sweep enqueues the run again.
    if (stopping.aborted || this.dependencies.of('store').isLimited) return;
    if (this.busy.has(id)) {
      // It has just parked and is due again, while this process is still leaving it.
      await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: LEAVING_MS });
      return;
    }
    this.busy.add(id);
    try {
      await this.claimAndRun({ tenantId, id }, stopping);
    } finally {
      this.busy.delete(id);
    }
  }

  private async claimAndRun(due: DueRun, stopping: AbortSignal): Promise<void> {
    const { tenantId, id } = due;
    const claimed = await this.claim(due).catch((error: unknown) => {
      // Its session was deleted with its user or its tenant.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (!claimed) {
      // A run that had to wait for another is due again soon, sooner than the next sweep.
      const isWaiting = await this.store.runs.isWaiting(tenantId, id);
      const job = { id, data: { tenantId } };
      if (isWaiting) await this.queue.add(RUN_JOB, job, { delayMs: RETRY_MS });
      return;
    }
    const { claim, run } = claimed;
    const renew = () => inTenant(tenantId, () => this.store.runs.renew(claim));
    const lease = new RunLease(claim, renew, stopping);
    this.running.set(id, lease);
    try {
      await this.loop.run(lease, run);
    } finally {
      if (this.running.get(id) === lease) this.running.delete(id);
      await lease.end();
      if (lease.cause === 'lost') {
        // Tells the next owner that this process no longer acts, so that it need not wait before it looks at the files.
        const release = () => this.store.effects.releaseToolCalls(due, processId);
        await this.attempts.try('Failed to release tool calls', release, id);
      } else await this.store.locks.releaseUnused(due);
    }
  }

  /** Undefined when the run cannot be claimed now: it is leased, parked, ended, or has to wait. */
  private async claim({
    tenantId,
    id,
  }: DueRun): Promise<{ readonly claim: RunClaim; readonly run: HarnessRun } | undefined> {
    return this.store.ledger.updateRun(tenantId, id, async (writer) => {
      const what = claimOf(writer.current);
      if (what === 'cancel') await this.ending.cancel(writer);
      if (what === 'give-up') await this.giveUp(writer);
      if (what !== 'claim') return undefined;
      const reason = await this.reasonToWait(writer);
      if (reason) {
        await this.wait(writer, reason);
        return undefined;
      }
      const owner = randomUUID();
      writer.claim(owner, processId);
      const { run } = writer;
      return { claim: { tenantId, runId: id, owner, fence: run.fence }, run };
    });
  }

  private async giveUp(writer: RunWriter): Promise<void> {
    const { id, recoveryAttempts } = writer.run;
    this.logger.error({ msg: 'Run failed permanently', runId: id, recoveries: recoveryAttempts });
    const message = msg`The server was lost several times while it worked on this run. What was done stays; start a new run to go on.`;
    await this.ending.end(writer, failedEnd('RECOVERY_EXHAUSTED', message));
  }

  private async reasonToWait(writer: RunWriter): Promise<QueueReason | undefined> {
    const { tenantId, userId, id, sessionId, permissionMode, status, fence } = writer.run;
    await this.store.runs.lockUser(tenantId, userId);
    const others = await this.store.runs.heldOf(tenantId, userId, id);
    if (status === 'QUEUED' && others >= this.config.HARNESS_RUNS_PER_USER)
      return 'limit_of_live_runs';
    if (permissionMode === 'READ_ONLY') return undefined;
    const session = await this.store.sessions.find(tenantId, sessionId);
    if (!session) return undefined;
    const { workspace } = session;
    const hasLock = await this.store.locks.take({
      tenantId,
      workspace,
      runId: id,
      fence: fence + 1,
    });
    return hasLock ? undefined : 'workspace_busy';
  }

  /** Records once why the run still waits. */
  private async wait(writer: RunWriter, reason: QueueReason): Promise<void> {
    await this.store.runs.postpone(writer.run, WAIT_SECONDS);
    if (writer.run.reason === reason || writer.run.status !== 'QUEUED') return;
    writer.set({ reason });
    writer.event('run.queued', { ...writer.statusData, reason });
  }
}

/** Whether no process can act for the run or its command any more. */
function isGone(
  { id, boot, isOver, command }: LeftHolder,
  isRunning: (id: string) => boolean,
): boolean {
  const hasLeft = (owner: string, isOverdue: boolean): boolean => {
    if (isOverdue) return true;
    return owner === processId ? !isRunning(id) : stateOfProcess(owner) === 'ended';
  };
  if (boot !== null && !hasLeft(boot, isOver)) return false;
  // A process that still runs on this host may be in the middle of the command, however long that is.
  const isUnknown = command !== null && stateOfProcess(command.boot) === 'unknown';
  return !command || hasLeft(command.boot, isUnknown && isOver);
}

/** Failures that are remembered; when there are more, all are forgotten and logged again. */
const MAX_REMEMBERED_FAILURES = 1_000;

/**
 * Logs repeated failures once: work that is tried again and again, such as a sweep, is logged when it first fails, and again
 * only when it has succeeded in between or fails for another reason.
 */
export class Attempts {
  private readonly failures = new Map<string, string>();

  constructor(private readonly logger: Logger) {}

  /** Never fails. `what` and the run identify an attempt; both are logged. */
  async try(what: string, work: () => Promise<unknown>, runId?: string): Promise<void> {
    const key = `${what} ${runId ?? ''}`;
    try {
      await work();
      this.failures.delete(key);
    } catch (error) {
      // An outage has its own line (Dependency).
      if (isOutage(error)) return;
      const cause = String(error);
      if (this.failures.get(key) === cause) return;
      if (this.failures.size >= MAX_REMEMBERED_FAILURES) this.failures.clear();
      this.failures.set(key, cause);
      this.logger.error({ msg: what, ...(runId !== undefined && { runId }), err: error });
    }
  }
}
