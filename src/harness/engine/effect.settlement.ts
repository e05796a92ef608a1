import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { RollBackFailedError } from '../fault/tool.error.js';
import { FileChanges } from '../change/file-changes.js';
import type { DescribedChanges } from '../change/change-records.js';
import { RunLedger } from '../store/run.ledger.js';
import type { HeldRun } from './held.run.js';
import { ModelCallRepository } from '../store/model-call.repository.js';
import { ProcessPresence } from './process.presence.js';
import { settlementOf } from '../protocol/effect.state.js';
import type { EffectState, FilesFound, Settlement } from '../protocol/effect.state.js';
import type { HarnessEffect, HarnessRun } from '../store/harness.entity.js';
import type { Workspace } from '../workspace/workspace.js';
import { CommandTraces } from './command.traces.js';
import type { CommandTrace } from './command.traces.js';
import { EffectRepository } from '../store/effect.repository.js';
import { ToolResults } from './tool.results.js';

const NOT_RUN =
  'Not run: the server restarted before this call began. Call it again if it is still wanted.';
const PUT_BACK =
  'Not run: the server restarted in the middle of this call, and every file was put back as it was. Call it again if it is still wanted.';
const RECONCILED =
  'Done: the server restarted, and the files were found as this call was to leave them.';
const REASONS = {
  SHELL: 'The server stopped while the command was running. Nobody knows what it has done.',
  FILE: 'The server stopped while files were being changed, and they are neither as before nor as planned.',
} as const;

/** What an owner on another host may take to notice that it has lost its lease. */
const OTHER_HOST_WAIT_MS = 60_000;
/** An owner on this host that does not answer for so long is given up: what it did cannot be known. */
const LONGEST_WAIT_MS = 10 * 60_000;
const ASK_EVERY_MS = 500;
/** Files that the event of an uncertain call names; the effect has them all. */
const NAMED_FILES = 100;

interface Found {
  readonly effect: HarnessEffect;
  readonly settlement: Settlement;
}

/**
 * The first thing a new owner does (harness design, 7.7): one look at every tool call without a result, before anything
 * else happens. What is certain is settled, what nobody can know parks the run.
 */
@Injectable()
export class EffectSettlement {
  constructor(
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly results: ToolResults,
    private readonly changes: FileChanges,
    private readonly traces: CommandTraces,
    private readonly modelCalls: ModelCallRepository,
    private readonly presence: ProcessPresence,
  ) {}

  /** True when the run goes on, false when it is parked until somebody resolves an uncertain effect. */
  async settle(held: HeldRun, run: HarnessRun, workspace: Workspace): Promise<boolean> {
    const { recovering } = run;
    await this.closeModelCalls(held);
    const settled: { toolCallId: string; state: EffectState }[] = [];
    const uncertain: HarnessEffect[] = [];
    for (const { effect, settlement } of await this.look(held, run, workspace)) {
      const state = await this.apply(held, { effect, settlement }, workspace);
      if (state === 'UNCERTAIN') uncertain.push(effect);
      if (state) settled.push({ toolCallId: effect.toolCallId, state });
    }
    if (uncertain.length > 0) {
      await this.park(held, uncertain);
      return false;
    }
    if (recovering) await this.ledger.asOwner(held.lease, (writer) => writer.recovered(settled));
    return true;
  }

  private async look(held: HeldRun, run: HarnessRun, workspace: Workspace): Promise<Found[]> {
    const found: Found[] = [];
    for (const effect of await this.effects.unanswered(run)) {
      const files = await this.filesOf(held, effect, workspace);
      const facts = { ...effect, hasResult: false };
      found.push({
        effect,
        settlement: settlementOf(facts, { recovering: run.recovering, found: files }),
      });
    }
    return found;
  }

  /** Undefined unless a change of files had begun. */
  private async filesOf(
    held: HeldRun,
    { state, effectClass, boot, runId, tenantId, operations }: HarnessEffect,
    workspace: Workspace,
  ): Promise<FilesFound | undefined> {
    if (state !== 'STARTED' || effectClass !== 'FILE') return undefined;
    if (!(await this.isOwnerAway(held, boot ?? '', runId))) return 'OTHER';
    return this.changes.find({ tenantId, workspace }, operations, held.signal);
  }

  /** Waits until the process that began the effect can no longer act. False when that cannot be waited for. */
  private async isOwnerAway(held: HeldRun, boot: string, runId: string): Promise<boolean> {
    const began = performance.now();
    if (boot === this.presence.boot) return true;
    for (;;) {
      const presence = await this.presence.of(boot, runId);
      if (presence === 'gone' || presence === 'idle') return true;
      const waited = performance.now() - began;
      if (presence === 'unknown' && waited >= OTHER_HOST_WAIT_MS) return true;
      if (waited >= LONGEST_WAIT_MS) return false;
      await delay(ASK_EVERY_MS, undefined, { signal: held.signal });
    }
  }

  /** Answers the state that was written; undefined when nothing was. */
  private async apply(
    held: HeldRun,
    { effect, settlement }: Found,
    workspace: Workspace,
  ): Promise<EffectState | undefined> {
    switch (settlement) {
      case 'leave':
      case 'execute':
        return undefined;
      case 'write-result':
        return this.answer(held, effect);
      case 'not-executed':
        return this.close(held, effect, NOT_RUN);
      case 'roll-back':
        return this.putBack(held, effect, workspace);
      case 'succeeded':
        return this.reconcile(held, effect);
      case 'uncertain':
        return this.doubt(held, effect, workspace);
    }
  }

  private async answer(held: HeldRun, effect: HarnessEffect): Promise<EffectState> {
    const { state, result, errorCode, exitCode, artifactId } = effect;
    await this.ledger.asOwner(held.lease, (writer) =>
      this.results.answer(writer, effect, {
        state,
        result: result ?? '',
        errorCode: errorCode ?? undefined,
        exitCode: exitCode ?? undefined,
        artifactId: artifactId ?? undefined,
      }),
    );
    return state;
  }

  private async close(held: HeldRun, effect: HarnessEffect, result: string): Promise<EffectState> {
    const state = 'NOT_EXECUTED';
    await this.ledger.asOwner(held.lease, (writer) =>
      this.results.settle(writer, effect, { state, result, errorCode: state }),
    );
    return state;
  }

  /** Uncertain when a file can no longer be put back. */
  private async putBack(
    held: HeldRun,
    effect: HarnessEffect,
    workspace: Workspace,
  ): Promise<EffectState> {
    const target = { tenantId: effect.tenantId, workspace };
    try {
      await this.changes.rollBack(target, effect.operations, held.effectSignal);
    } catch (error) {
      if (error instanceof RollBackFailedError) return this.doubt(held, effect, workspace);
      throw error;
    }
    return this.close(held, effect, PUT_BACK);
  }

  private async reconcile(held: HeldRun, effect: HarnessEffect): Promise<EffectState> {
    const described = await this.described(effect);
    await this.ledger.asOwner(held.lease, async (writer) => {
      await this.results.settle(writer, effect, {
        state: 'SUCCEEDED',
        result: RECONCILED,
        reconciled: true,
      });
      writer.events(await this.changes.record(writer.run, effect.toolCallId, described));
    });
    return 'SUCCEEDED';
  }

  private described({ tenantId, runId: id, operations }: HarnessEffect): Promise<DescribedChanges> {
    return this.changes.describe({ tenantId, id }, operations);
  }

  private async doubt(
    held: HeldRun,
    effect: HarnessEffect,
    workspace: Workspace,
  ): Promise<EffectState> {
    const { toolCallId, toolName, effectClass, state, startedAt } = effect;
    if (state === 'UNCERTAIN') return state;
    const trace = effectClass === 'SHELL' ? await this.traceOf(held, effect, workspace) : undefined;
    const operations = trace ? trace.operations : effect.operations;
    const data = {
      toolName,
      reason: effectClass === 'SHELL' ? REASONS.SHELL : REASONS.FILE,
      ...(startedAt && { startedAt: startedAt.getTime() }),
      ...(operations && {
        fileCount: operations.length,
        files: operations.slice(0, NAMED_FILES).map(({ path, op }) => ({ path, op })),
      }),
    };
    await this.ledger.asOwner(held.lease, async (writer) => {
      const artifactId = trace && (await this.traces.keep(writer.run, effect, trace));
      await this.effects.doubt(writer.run, toolCallId, { operations, artifactId });
      const event = { ...data, ...(artifactId !== undefined && { artifactId }) };
      writer.event('effect.uncertain', event, { toolCallId });
    });
    if (trace) await this.traces.forget(effect);
    return 'UNCERTAIN';
  }

  /** Of a command; nothing while it may still run. */
  private async traceOf(
    held: HeldRun,
    effect: HarnessEffect,
    workspace: Workspace,
  ): Promise<CommandTrace> {
    const isOver = await this.isOwnerAway(held, effect.boot ?? '', effect.runId);
    if (isOver) return this.traces.find(effect, workspace, held.signal);
    return { operations: undefined, output: undefined };
  }

  private async park(held: HeldRun, uncertain: readonly HarnessEffect[]): Promise<void> {
    const code = 'uncertain_tool_effect';
    const message =
      'Nobody knows what a tool call has done, because the server stopped in the middle of it. Look at the workspace, then say whether it was executed.';
    await this.ledger.asOwner(held.lease, (writer) => {
      writer.set({ errorCode: code, errorMessage: message });
      writer.park('EFFECT');
      const effectIds = uncertain.map(({ toolCallId }) => toolCallId);
      const data = { ...writer.statusData, waitKind: 'EFFECT', code, message, effectIds } as const;
      writer.event('run.suspended', data);
    });
  }

  /** The calls of a lost owner's model: made again, at a cost that nobody has counted. */
  private async closeModelCalls(held: HeldRun): Promise<void> {
    await this.ledger.asOwner(held.lease, async (writer) => {
      for (const effectId of await this.modelCalls.abandonOpen(writer.run)) {
        const data = { effectId, outcome: 'ABANDONED', code: 'MODEL_INTERRUPTED' } as const;
        writer.event('model.turn.abandoned', data);
      }
    });
  }
}
