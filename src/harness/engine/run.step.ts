import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { ApprovalRow } from '../store/approval.repository.js';
import { ContextBuilder, ContextOverflowError } from '../context/context.builder.js';
import type { TurnInput } from '../context/context.builder.js';
import { EffectRepository } from '../store/effect.repository.js';
import type { HarnessEffect, HarnessRun, HarnessSession } from '../store/harness.entity.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunEnd, RunWriter } from '../store/run-writer.js';
import { Sandbox } from '../sandbox/sandbox.js';
import type { RunSkills } from '../store/run-skills.js';
import type { OfferFacts } from '../tool/tool.js';
import { ToolRegistry } from '../tool/tools.js';
import type { Workspace } from '../workspace/workspace.js';
import { AnswerRecord } from './answer.record.js';
import type { HeldRun } from './held.run.js';
import { LOOKED_BACK, loopVerdict } from './loop.guard.js';
import { failedTurn, ModelTurn } from './model.turn.js';
import type { TurnResult } from './model.turn.js';
import { budgetEnd, loopEnd, overflowEnd, refusalEnd } from './run.ends.js';
import { RunEnding } from './run.ending.js';
import { InputIntake } from './input.intake.js';
import { ToolCalls } from './tool.calls.js';

/** What stays the same from step to step of one owner. */
export interface StepTurn {
  readonly held: HeldRun;
  readonly session: HarnessSession;
  readonly workspace: Workspace;
  readonly caller: Caller;
  readonly model: ResolvedChatModel;
  readonly skills: RunSkills;
  readonly seen: Map<string, string>;
  /** Of the calls that the owner has found open; no other call has one, because asking for it ends the ownership. */
  readonly approvals: ReadonlyMap<string, ApprovalRow>;
}

export type StepResult = 'next' | 'ended' | 'parked' | 'unsettled';

/** One step: the tool calls that are still to be carried out, or else one turn of the model. */
@Injectable()
export class RunStep {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly sandbox: Sandbox,
    private readonly registry: ToolRegistry,
    private readonly calls: ToolCalls,
    private readonly inputs: InputIntake,
    private readonly context: ContextBuilder,
    private readonly model: ModelTurn,
    private readonly answers: AnswerRecord,
    private readonly ending: RunEnding,
  ) {}

  async take(turn: StepTurn): Promise<StepResult> {
    const { lease } = turn.held;
    const [run, open] = await Promise.all([
      this.ledger.held(lease),
      this.effects.unanswered({ tenantId: lease.tenantId, id: lease.runId }),
    ]);
    if (open.length > 0) return this.carryOut(turn, run, open);
    const [end, hasSteers] = await Promise.all([
      this.limitOf(turn, run),
      this.inputs.hasSteers(run),
    ]);
    if (end) return this.end(turn, end);
    if (hasSteers) await this.inputs.takeInSteers(turn.held);
    return this.ask(turn, run);
  }

  private async carryOut(
    turn: StepTurn,
    run: HarnessRun,
    effects: readonly HarnessEffect[],
  ): Promise<StepResult> {
    const result = await this.calls.carryOut(
      {
        ...turn,
        run,
        offer: this.offer(turn, run),
        secrets: secretsOf(turn.model),
      },
      effects,
    );
    // Whoever stopped the work is looked after by the loop.
    return result === 'parked' || result === 'unsettled' ? result : 'next';
  }

  private async ask(turn: StepTurn, run: HarnessRun): Promise<StepResult> {
    const { held, session, model, skills, workspace } = turn;
    const names = skills.list.map(({ name }) => name);
    const tools = this.registry.definitions(this.offer(turn, run), names);
    const input: TurnInput = { run, session, model, skills, workspace, tools, signal: held.signal };
    try {
      const context = await this.context.build(input);
      if (context.compaction) await this.answers.compacted(held, context.compaction, model);
      const result = await this.model.take(held, input, context);
      return await this.settle(turn, result);
    } catch (error) {
      if (error instanceof ContextOverflowError) return this.end(turn, overflowEnd(error));
      // The summary of a long conversation is a call of the model, too.
      const isServices = error instanceof UpstreamError && held.cause === undefined;
      if (isServices) return this.settle(turn, failedTurn(error));
      throw error;
    }
  }

  private async settle(turn: StepTurn, result: TurnResult): Promise<StepResult> {
    const { held, model } = turn;
    switch (result.kind) {
      case 'answer':
        return this.answers.write(held, result.answer, model, (writer) => this.complete(writer));
      case 'unusable':
        await this.answers.writeUnusable(held, result.answer);
        return 'next';
      case 'unavailable':
        await this.park(turn, result.error.message);
        return 'parked';
      case 'refused':
        return this.end(turn, refusalEnd(result.error));
    }
  }

  /** Why the run must not go on: what it was given is used up, or it goes round in circles. */
  private async limitOf({ held, model }: StepTurn, run: HarnessRun): Promise<RunEnd | undefined> {
    const used = budgetEnd(run, held.activeMs);
    if (used) return used;
    const [isHopeless, calls] = await Promise.all([
      this.answers.isHopeless(run),
      this.effects.lastCalls(run, LOOKED_BACK),
    ]);
    if (isHopeless) return loopEnd('format');
    const { warning, stop } = loopVerdict(calls);
    if (stop) return loopEnd(stop.kind);
    // Once: the model may have answered since without a call.
    const isNew = calls.at(-1)?.iteration === run.iteration;
    if (warning && isNew) await this.answers.warn(held, warning, model);
    return undefined;
  }

  private offer(turn: Pick<StepTurn, 'skills'>, run: HarnessRun): OfferFacts {
    const { permissionMode, approvalPolicy, phase } = run;
    return {
      permissionMode,
      approvalPolicy,
      phase,
      sandboxAvailable: this.sandbox.capability.available,
      mayAsk: this.config.HARNESS_ASK_USER,
      hasSkills: turn.skills.list.length > 0,
    };
  }

  private async park({ held }: StepTurn, message: string): Promise<void> {
    const code = 'model_unavailable';
    await this.ledger.asOwner(held.lease, (writer) => {
      writer.set({ errorCode: code, errorMessage: message });
      writer.park('PROVIDER');
      writer.event('run.suspended', { ...writer.statusData, waitKind: 'PROVIDER', code, message });
    });
  }

  /** The run ends with its last answer, unless somebody has said something more. */
  private async complete(writer: RunWriter): Promise<'next' | 'ended'> {
    if (await this.inputs.takeIn(writer, 'ANY')) return 'next';
    await this.ending.end(writer, { status: 'COMPLETED', stopReason: 'END_TURN' });
    return 'ended';
  }

  private async end({ held }: StepTurn, end: RunEnd): Promise<StepResult> {
    await this.ledger.asOwner(held.lease, (writer) => this.ending.end(writer, end));
    return 'ended';
  }
}

function secretsOf({ connection }: ResolvedChatModel): string[] {
  return connection.credential === undefined ? [] : [connection.credential];
}
