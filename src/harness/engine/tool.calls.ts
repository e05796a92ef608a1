import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { isConnectionFailure } from '../../platform/database/index.js';
import type { ApprovalAsk } from '../store/approval.ask.js';
import { ApprovalService } from './approval.service.js';
import { decidePolicy } from '../protocol/policy.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import type { EventDraft } from '../store/event.catalogue.js';
import { stepIdOf } from '../store/event.catalogue.js';
import { RunLedger } from '../store/run.ledger.js';
import { FencedError } from '../protocol/lease.js';
import { CancelRequestedError } from '../protocol/run.state.js';
import { ToolError } from '../fault/tool.error.js';
import type { BoundCall, ToolContext } from '../tool/tool.js';
import { ToolRegistry } from '../tool/tools.js';
import { doneOutcome, failedOutcome } from './call.outcome.js';
import type { CallOutcome } from './call.outcome.js';
import { CallRecord } from './call.record.js';
import type { CallResult, CallTurn } from './call.turn.js';
import { ChangeCalls } from './change.calls.js';
import { PermissionRevokedError, UnrecordedError } from './loop.errors.js';
import { PlanCalls } from './plan.calls.js';
import type { HeldRun } from './held.run.js';
import { sideBySide } from './side-by-side.js';

/** What became of the calls of one message. */
export type CallsResult = 'done' | 'parked' | 'stopped' | 'unsettled';

const PARALLEL_READS = 4;
/** A read that takes longer says that it has begun before it says what it found. */
const QUICK_MS = 100;
/** Calls of one message that are carried out. */
const CALLS_PER_MESSAGE = 16;

type ReadCall = Extract<BoundCall, { effectClass: 'READ' }>;

/**
 * Carries out the tool calls of one message, in their order; reads that follow each other run side by side. Calls that
 * need consent wait until all others are done, and then park the run together.
 */
@Injectable()
export class ToolCalls {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly ledger: RunLedger,
    private readonly registry: ToolRegistry,
    private readonly approvals: ApprovalService,
    private readonly record: CallRecord,
    private readonly changes: ChangeCalls,
    private readonly plans: PlanCalls,
  ) {}

  async carryOut(turn: CallTurn, effects: readonly HarnessEffect[]): Promise<CallsResult> {
    const isStopped = (): boolean => turn.held.cause !== undefined;
    const asks: ApprovalAsk[] = [];
    const last = effects.filter(({ effectClass }) => effectClass === 'META');
    const first = effects.filter(({ effectClass }) => effectClass !== 'META');
    for (const group of groups(first)) {
      if (isStopped()) return 'stopped';
      const results = await this.group(turn, group);
      if (results.some(({ kind }) => kind === 'unsettled')) {
        return isStopped() ? 'stopped' : 'unsettled';
      }
      asks.push(...results.flatMap((result) => (result.kind === 'ask' ? [result.ask] : [])));
    }
    if (asks.length > 0) {
      await this.park(turn, asks);
      return 'parked';
    }
    for (const [index, effect] of last.entries()) {
      if (isStopped()) return 'stopped';
      const current = index === 0 ? turn : await this.anew(turn);
      if ((await this.one(current, effect)).kind === 'parked') return 'parked';
    }
    return isStopped() ? 'stopped' : 'done';
  }

  /** With the run as the calls before have left it: each such call changes its plan, its phase or its question. */
  private async anew(turn: CallTurn): Promise<CallTurn> {
    const run = await this.ledger.held(turn.held.lease);
    return { ...turn, run, offer: { ...turn.offer, phase: run.phase } };
  }

  /** A failure is thrown when no read is at work any more: of a closed workspace each would answer what is not so. */
  private async group(turn: CallTurn, effects: readonly HarnessEffect[]): Promise<CallResult[]> {
    return sideBySide(
      effects.map((effect) => () => this.one(turn, effect)),
      PARALLEL_READS,
    );
  }

  private async one(turn: CallTurn, effect: HarnessEffect): Promise<CallResult> {
    const started = performance.now();
    try {
      const call = this.bound(turn, effect);
      const context = contextOf(turn, effect);
      switch (call.effectClass) {
        case 'READ':
          return await this.read(turn, effect, { call, context, started });
        case 'META':
          return await this.plans.carryOut(turn, effect, { call, context, started });
        default:
          return await this.changes.carryOut(turn, effect, { call, context, started });
      }
    } catch (error) {
      const outcome = this.failure(turn, effect, error);
      await this.record.write(turn, effect, { outcome, durationMs: performance.now() - started });
      return { kind: 'done' };
    }
  }

  /** The call with its arguments read. ToolError when it is not to be carried out at all. */
  private bound(turn: CallTurn, effect: HarnessEffect): BoundCall {
    const { toolName, ordinal, input, toolCallId } = effect;
    if (ordinal >= CALLS_PER_MESSAGE) {
      throw new ToolError(
        'LIMIT_REACHED',
        `Not run: only ${CALLS_PER_MESSAGE} calls of one message are carried out. Call it again in the next message.`,
      );
    }
    const tool = this.registry.find(toolName);
    if (!tool) {
      throw new ToolError(
        'UNKNOWN_TOOL',
        `There is no tool named ${toolName.slice(0, 100)}. Use one of those you were given.`,
      );
    }
    const why = this.registry.refusal(tool, turn.offer);
    if (why)
      throw new ToolError(
        toolName === 'shell' && !turn.offer.sandboxAvailable
          ? 'SANDBOX_UNAVAILABLE'
          : 'TOOL_NOT_OFFERED',
        why,
      );
    const approval = turn.approvals.get(toolCallId);
    if (approval?.state === 'DENIED') {
      const note = approval.note ? ` They say: ${approval.note}` : '';
      throw new ToolError(
        'DENIED',
        `A person has refused this call.${note} Do not repeat it; find another way or stop.`,
      );
    }
    return tool.bind(input);
  }

  private async read(
    turn: CallTurn,
    effect: HarnessEffect,
    {
      call,
      context,
      started,
    }: { readonly call: ReadCall; readonly context: ToolContext; readonly started: number },
  ): Promise<CallResult> {
    const { run, held } = turn;
    const decision = decidePolicy(run, await call.subject(context));
    if (decision.verdict === 'deny') throw new ToolError(decision.code, decision.message);
    const consent = this.changes.consent(turn, effect, { title: call.title, operations: [] });
    if (decision.verdict === 'ask' && !consent.isGiven)
      return { kind: 'ask', ask: consent.ask([]) };
    const begun: EventDraft = {
      type: 'tool.started',
      data: this.changes.startData(turn, effect, call.title),
      subject: { toolCallId: effect.toolCallId, stepId: stepIdOf(effect.iteration) },
    };
    const { found, isTold } = await this.toldWhenSlow(held, begun, call.run(context));
    const outcome =
      found.status === 'fulfilled'
        ? doneOutcome(found.value)
        : this.failure(turn, effect, found.reason);
    const durationMs = performance.now() - started;
    await this.record.write(turn, effect, { outcome, durationMs, ...(!isTold && { begun }) });
    return { kind: 'done' };
  }

  /**
   * Waits for a read, and stores that it has begun when it takes a moment; a quick one is spared the write. Fails only when
   * the read is no longer at work.
   */
  private async toldWhenSlow<T>(
    { lease }: HeldRun,
    begun: EventDraft,
    reading: Promise<T>,
  ): Promise<{ found: PromiseSettledResult<T>; isTold: boolean }> {
    const over = new AbortController();
    const telling = sleep(QUICK_MS, true, { signal: over.signal })
      .catch(() => false)
      .then(async (isSlow) => {
        if (isSlow) await this.ledger.append(lease, [begun]);
        return isSlow;
      });
    const read = reading.finally(() => over.abort());
    const [found, told] = await Promise.allSettled([read, telling]);
    if (told.status === 'rejected') throw told.reason;
    return { found, isTold: told.value };
  }

  private async park({ held }: CallTurn, asks: readonly ApprovalAsk[]): Promise<void> {
    await this.ledger.asOwner(held.lease, async (writer) => {
      const rows = await this.approvals.request(writer, asks);
      writer.park('TOOL');
      const pendingApprovals = rows.map(({ id }) => id);
      writer.event('run.waiting_for_approval', { ...writer.statusData, pendingApprovals });
    });
  }

  /** Rethrows what is no outcome of the call: a lost lease, or an end of the run. */
  private failure({ held }: CallTurn, effect: HarnessEffect, error: unknown): CallOutcome {
    if (error instanceof ToolError) return failedOutcome(error);
    if (held.cause || isBeyondTools(error)) throw error;
    const { toolName, toolCallId, runId } = effect;
    this.logger.error({
      msg: 'A tool failed unexpectedly',
      tool: toolName,
      toolCallId,
      runId,
      err: error,
    });
    return failedOutcome(
      new ToolError(
        'FAILED',
        'The tool failed for a reason of the server, which its log tells. Nothing is known to have changed; try another way.',
      ),
    );
  }
}

/** What says something about the run or the database, and nothing about the tool. */
function isBeyondTools(error: unknown): boolean {
  return (
    error instanceof FencedError ||
    error instanceof CancelRequestedError ||
    error instanceof PermissionRevokedError ||
    error instanceof UnrecordedError ||
    isConnectionFailure(error)
  );
}

/** Reads that follow each other together, everything else alone. */
function groups(effects: readonly HarnessEffect[]): HarnessEffect[][] {
  const found: HarnessEffect[][] = [];
  for (const effect of effects) {
    const group = found.at(-1);
    const isRead = effect.effectClass === 'READ';
    if (isRead && group?.[0]?.effectClass === 'READ') group.push(effect);
    else found.push([effect]);
  }
  return found;
}

function contextOf(turn: CallTurn, { toolCallId }: HarnessEffect): ToolContext {
  const { run, workspace, skills, seen, held } = turn;
  return { run, plan: run.plan, workspace, skills, seen, toolCallId, signal: held.effectSignal };
}
