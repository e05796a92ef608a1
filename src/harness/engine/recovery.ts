import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { isOutage } from '../../platform/database/index.js';
import { closing } from '../../platform/filesystem/index.js';
import { processId, stateOfProcess } from '../../platform/lease/index.js';
import { english, msg } from '../../platform/message/index.js';
import { ATTRIBUTE, traced } from '../../platform/tracing/index.js';
import { Artifacts, BlobStore } from '../change/blob.store.js';
import { FileChanges } from '../change/file-changes.js';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import type { SnapshotTarget } from '../change/snapshot/workspace.snapshots.js';
import { outputOf, PartialOutputs, ToolResults } from './tool.results.js';
import type { ClaimedRun, RunLease } from './run.context.js';
import { RollBackFailedError } from '../protocol/tool-call.js';
import type {
  EffectState,
  FileOperation,
  FilesFound,
  Reconciliation,
  RunEffect,
} from '../../effect/index.js';
import { reconciliationOf } from '../../effect/index.js';
import { Sandbox } from '../sandbox/sandbox.js';
import type { LeftHolder } from '../store/workspace-lock.repository.js';
import { Workspace } from '../workspace/workspace.js';
import { RunStore } from '../store/run.ledger.js';

/** Removes what commands have made under protected names whose process was lost before it could do so. */
@Injectable()
export class InterruptedCommands {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly snapshots: WorkspaceSnapshots,
    private readonly sandbox: Sandbox,
    private readonly store: RunStore,
    private readonly outputs: PartialOutputs,
  ) {}

  /**
   * Removes from the workspace what was not there before the command. False, with nothing removed, when it is no longer
   * known what was there. Nothing of the command may run any more.
   */
  async tidy(
    target: SnapshotTarget,
    snapshotSha256: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const paths = await this.snapshots.protectedPathsOf(target, snapshotSha256, signal);
    if (paths) await this.sandbox.tidy(target.root, paths, signal);
    return paths !== undefined;
  }

  /**
   * The same for the last command of a run that has ended and retained its workspace lock for this; also removes its
   * partial output. Files that cannot be removed are logged. Fails, and must be tried again, when the database is
   * unavailable or the signal aborts.
   */
  async removeLeftovers(
    { tenantId, id: runId, sessionId }: LeftHolder,
    { toolCallId, snapshotSha256 }: NonNullable<LeftHolder['command']>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.outputs.remove({ tenantId, toolCallId });
    const session = await this.store.sessions.find(tenantId, sessionId);
    if (!session) return;
    const { workspace: root, workspaceIdentity } = session;
    try {
      const workspace = await Workspace.open(root, workspaceIdentity);
      const isDone = await closing(workspace, () =>
        this.tidy({ tenantId, root }, snapshotSha256, signal),
      );
      if (!isDone) throw new Error('What was there before the command is no longer known.');
    } catch (error) {
      signal.throwIfAborted();
      if (isOutage(error)) throw error;
      const msg = 'Failed to remove what an interrupted command has left';
      this.logger.error({ msg, runId, workspace: root, err: error });
    }
  }
}

const NOT_RUN =
  'Not run: the server restarted before this call began. Call it again if it is still wanted.';
const PUT_BACK =
  'Not run: the server restarted in the middle of this call, and every file was put back as it was. Call it again if it is still wanted.';
const RECONCILED =
  'Done: the server restarted, and the files were found as this call was to leave them.';
const REASONS = {
  SHELL: 'The server stopped while the command was running. Its outcome is unknown.',
  FILE: 'The server stopped while files were being changed, and they are neither as before nor as planned.',
} as const;
const SUSPENDED = msg`The server stopped in the middle of a tool call, and its outcome is unknown. Check the workspace, then resolve the call as executed or not executed.`;

/** Time that an owner on another host may take to notice that it has lost its lease. */
const OTHER_HOST_WAIT_MS = 60_000;
/** Time after which a process of this host that still runs is stuck: its call's outcome counts as unknown. */
const MAX_WAIT_MS = 10 * 60_000;
const POLL_MS = 500;
/** Files that the event of an uncertain call names; the effect has them all. */
const MAX_NAMED_FILES = 100;

interface Finding {
  readonly effect: RunEffect;
  readonly reconciliation: Reconciliation;
}

/** Traces of a command whose end is unknown. */
interface CommandTrace {
  /** The files changed since the snapshot before it; undefined where that is unknown. */
  readonly operations: readonly FileOperation[] | undefined;
  /** Its output until a few seconds before. */
  readonly output: Buffer | undefined;
  /** Whether files under protected names were removed as far as possible; otherwise a worker does it. */
  readonly isTidied: boolean;
}

/**
 * The first thing that a new owner does: one look at every tool call without a result, before anything else happens. What
 * is certain is stored as the call's outcome; a call whose outcome is unknown parks the run until a person resolves it.
 */
@Injectable()
export class ToolCallRecovery {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly store: RunStore,
    private readonly results: ToolResults,
    private readonly changes: FileChanges,
    private readonly snapshots: WorkspaceSnapshots,
    private readonly commands: InterruptedCommands,
    private readonly artifacts: Artifacts,
    private readonly blobs: BlobStore,
  ) {}

  /** True when the run goes on, false when it is parked. */
  reconcile(context: ClaimedRun): Promise<boolean> {
    if (!context.run.recovering) return this.settleAll(context);
    const attributes = () => ({ [ATTRIBUTE.runId]: context.run.id });
    return traced('recover', { attributes }, async (span) => {
      const goesOn = await this.settleAll(context);
      span?.set({ [ATTRIBUTE.outcome]: goesOn ? 'next' : 'parked' });
      return goesOn;
    });
  }

  private async settleAll(context: ClaimedRun): Promise<boolean> {
    const { lease, run } = context;
    await this.abandonModelCalls(lease);
    const settled: { toolCallId: string; state: EffectState }[] = [];
    let isUncertain = false;
    for (const finding of await this.inspect(context)) {
      const { toolCallId } = finding.effect;
      const state = await this.apply(context, finding);
      if (state === 'UNCERTAIN') isUncertain = true;
      else if (state) settled.push({ toolCallId, state });
    }
    if (isUncertain && (await this.park(lease))) return false;
    if (run.recovering) {
      await this.store.ledger.asOwner(lease.claim, (writer) => writer.recovered(settled));
    }
    return true;
  }

  /** Model calls that a lost owner has left open: the model is called again, and their tokens stay counted as estimated. */
  private async abandonModelCalls(lease: RunLease): Promise<void> {
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      for (const effectId of await this.store.modelCalls.abandonOpen(writer.run)) {
        const data = { effectId, outcome: 'ABANDONED', code: 'MODEL_INTERRUPTED' } as const;
        writer.event('model.turn.abandoned', data);
      }
    });
  }

  private async inspect(context: ClaimedRun): Promise<Finding[]> {
    const { recovering } = context.run;
    const findings: Finding[] = [];
    for (const effect of await this.store.messages.unansweredCalls(context.run)) {
      const filesFound = await this.filesOf(context, effect);
      findings.push({
        effect,
        reconciliation: reconciliationOf(effect, { recovering, filesFound }),
      });
    }
    return findings;
  }

  /** Undefined unless a change of files had begun. */
  private async filesOf(
    { lease, workspace }: ClaimedRun,
    effect: RunEffect,
  ): Promise<FilesFound | undefined> {
    const { state, effectClass, tenantId, operations } = effect;
    if (state !== 'STARTED' || effectClass !== 'FILE') return undefined;
    if (!(await this.isOwnerGone(lease, effect))) return 'OTHER';
    return this.changes.find({ tenantId, workspace }, operations, lease.signal);
  }

  /** Waits until the process that started the effect can no longer act. False when that cannot be waited for. */
  private async isOwnerGone(
    lease: RunLease,
    { tenantId, runId: id, toolCallId }: RunEffect,
  ): Promise<boolean> {
    const began = performance.now();
    for (;;) {
      const owner = (await this.store.effects.find({ tenantId, id }, toolCallId))?.boot;
      // A process that has left the run has removed its name, and claims the run again only after that.
      if (!owner || owner === processId) return true;
      const state = stateOfProcess(owner);
      if (state === 'ended') return true;
      const waited = performance.now() - began;
      if (state === 'unknown' && waited >= OTHER_HOST_WAIT_MS) return true;
      if (waited >= MAX_WAIT_MS) return false;
      await delay(POLL_MS, undefined, { signal: lease.signal });
    }
  }

  /** Answers the state that was stored; undefined when nothing was. */
  private async apply(
    context: ClaimedRun,
    { effect, reconciliation }: Finding,
  ): Promise<EffectState | undefined> {
    if (reconciliation === 'execute') return undefined;
    const { toolCallId, effectClass } = effect;
    const attributes = () => ({
      [ATTRIBUTE.toolCallId]: toolCallId,
      [ATTRIBUTE.effectClass]: effectClass,
    });
    return traced('settle effect', { attributes }, async (span) => {
      const state = await this.settle(context, effect, reconciliation);
      span?.set({ [ATTRIBUTE.outcome]: state });
      return state;
    });
  }

  private async settle(
    context: ClaimedRun,
    effect: RunEffect,
    reconciliation: Exclude<Reconciliation, 'execute'>,
  ): Promise<EffectState> {
    const { claim } = context.lease;
    switch (reconciliation) {
      case 'write-result':
        await this.store.ledger.asOwner(claim, (writer) => this.results.answer(writer, effect));
        return effect.state;
      case 'not-executed':
        return this.markNotExecuted(context, effect, NOT_RUN);
      case 'roll-back':
        return this.rollBack(context, effect);
      case 'succeeded':
        return this.markSucceeded(context, effect);
      case 'uncertain':
        return this.markUncertain(context, effect);
    }
  }

  private async markNotExecuted(
    { lease }: ClaimedRun,
    effect: RunEffect,
    result: string,
  ): Promise<EffectState> {
    const state = 'NOT_EXECUTED';
    await this.store.ledger.asOwner(lease.claim, (writer) =>
      this.results.finish(writer, effect, { state, result, errorCode: state }),
    );
    return state;
  }

  /** Uncertain when a file can no longer be put back. */
  private async rollBack(context: ClaimedRun, effect: RunEffect): Promise<EffectState> {
    const { lease, workspace } = context;
    const target = { tenantId: effect.tenantId, workspace };
    try {
      await this.changes.rollBack(target, effect.operations, lease.effectSignal);
    } catch (error) {
      if (error instanceof RollBackFailedError) return this.markUncertain(context, effect);
      throw error;
    }
    return this.markNotExecuted(context, effect, PUT_BACK);
  }

  private async markSucceeded({ lease }: ClaimedRun, effect: RunEffect): Promise<EffectState> {
    const { tenantId, runId: id, toolCallId, operations } = effect;
    const state = 'SUCCEEDED';
    const described = await this.changes.describe({ tenantId, id }, operations);
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      await this.results.finish(writer, effect, { state, result: RECONCILED, reconciled: true });
      writer.events(await this.changes.record(writer.run, toolCallId, described));
    });
    return state;
  }

  private async markUncertain(context: ClaimedRun, effect: RunEffect): Promise<EffectState> {
    const { toolCallId, toolName, effectClass, state, startedAt } = effect;
    if (state === 'UNCERTAIN') return state;
    const trace = effectClass === 'SHELL' ? await this.traceOf(context, effect) : undefined;
    const output = trace?.output;
    const operations = trace ? trace.operations : effect.operations;
    const data = {
      toolName,
      reason: effectClass === 'SHELL' ? REASONS.SHELL : REASONS.FILE,
      ...(startedAt && { startedAt: startedAt.getTime() }),
      ...(operations && {
        fileCount: operations.length,
        files: operations.slice(0, MAX_NAMED_FILES).map(({ path, op }) => ({ path, op })),
      }),
    };
    await this.store.ledger.asOwner(context.lease.claim, async (writer) => {
      const artifactId =
        output && (await this.artifacts.keep(writer.run, outputOf(toolCallId, output)));
      await this.store.effects.markUncertain(writer.run, toolCallId, { operations, artifactId });
      if (trace?.isTidied) await this.store.locks.markTidied(writer.run);
      const event = { ...data, ...(artifactId !== undefined && { artifactId }) };
      writer.event('effect.uncertain', event, { toolCallId });
    });
    // Once everything is stored elsewhere.
    if (trace) await this.results.outputs.remove(effect);
    return 'UNCERTAIN';
  }

  /** Takes minutes at most, so it is no part of a transaction. Nothing is found while the command may still run. */
  private async traceOf(context: ClaimedRun, effect: RunEffect): Promise<CommandTrace> {
    if (!(await this.isOwnerGone(context.lease, effect))) {
      return { operations: undefined, output: undefined, isTidied: false };
    }
    const isTidied = await this.tidy(context, effect);
    const operations = await this.changesSinceStart(context, effect);
    const output = await this.results.outputs.read(effect);
    if (output) await this.blobs.put(effect.tenantId, output);
    return { operations, output, isTidied };
  }

  /** False when it has failed. */
  private async tidy(
    { lease: { signal }, workspace: { root } }: ClaimedRun,
    { tenantId, runId, toolCallId, snapshotSha256 }: RunEffect,
  ): Promise<boolean> {
    try {
      if (snapshotSha256) await this.commands.tidy({ tenantId, root }, snapshotSha256, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const msg = 'Failed to remove what an interrupted command has left';
      this.logger.warn({ msg, runId, toolCallId, err: error });
      return false;
    }
  }

  private async changesSinceStart(
    { lease: { signal }, workspace: { root } }: ClaimedRun,
    { tenantId, runId, toolCallId, snapshotSha256 }: RunEffect,
  ): Promise<readonly FileOperation[] | undefined> {
    try {
      if (!snapshotSha256) return undefined;
      return await this.snapshots.changesSince({ tenantId, root }, snapshotSha256, signal);
    } catch (error) {
      signal.throwIfAborted();
      const msg = 'Failed to determine the changes of an interrupted command';
      this.logger.warn({ msg, runId, toolCallId, err: error });
      return undefined;
    }
  }

  /** False, with nothing changed, when people have resolved every call since it was marked as uncertain. */
  private async park(lease: RunLease): Promise<boolean> {
    const code = 'uncertain_tool_effect';
    const message = SUSPENDED;
    return this.store.ledger.asOwner(lease.claim, async (writer) => {
      const open = await this.store.messages.unansweredCalls(writer.run);
      const uncertain = open.filter(({ state }) => state === 'UNCERTAIN');
      if (uncertain.length === 0) return false;
      writer.set({ errorCode: code, errorMessage: message });
      writer.park('EFFECT');
      const effectIds = uncertain.map(({ toolCallId }) => toolCallId);
      const data = {
        ...writer.statusData,
        waitKind: 'EFFECT',
        code,
        message: english(message),
        effectIds,
      } as const;
      writer.event('run.suspended', data);
      return true;
    });
  }
}
