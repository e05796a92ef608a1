import { Injectable } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { msg, sentences } from '../../platform/message/index.js';
import type { UpstreamError } from '../../provider/index.js';
import { endOf, endsAtOnce, isEnded } from '../protocol/run.state.js';
import type { StopReason } from '../protocol/run.state.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { abandonedAs, isSettled } from '../../effect/index.js';
import type { PastCall, RunEffect } from '../../effect/index.js';
import type { RunEnd, RunWriter } from '../store/run.ledger.js';
import { RunStore } from '../store/run.ledger.js';
import { ToolResults } from './tool.results.js';

const NOT_RUN = 'Not run: the run ended before this call began.';
const UNKNOWN =
  'The run ended while this call was running. Its outcome is unknown: check the workspace before you repeat it.';

/**
 * Ends and cancels runs. When a run ends, nothing stays open: every tool call gets its one result, and a call whose
 * outcome is unknown stays marked as uncertain. The workspace is released at once, unless another process still holds the
 * run, or a lost one was in the middle of a command: then a worker releases it when that process can no longer act, and
 * when it has removed what the command has left there (RunWorker.freeLeft).
 */
@Injectable()
export class RunEnding {
  constructor(
    private readonly store: RunStore,
    private readonly results: ToolResults,
    private readonly database: Database,
  ) {}

  /**
   * Cancels a run in any state, on the caller's request. A run without an owner ends at once; the owner of a leased run is
   * asked to end it, and is forced to within 10 seconds. `changed` is false for a run that has ended or is already
   * being cancelled.
   */
  async requestCancel(
    caller: Caller,
    { tenantId, id }: Pick<HarnessRun, 'tenantId' | 'id'>,
  ): Promise<{ changed: boolean }> {
    return this.store.ledger.updateRun(tenantId, id, async (writer) => {
      if (isEnded(writer.run.status)) return { changed: false };
      if (endsAtOnce(writer.current)) {
        await this.cancel(writer);
        return { changed: true };
      }
      if (writer.current.cancelRequested) return { changed: false };
      writer.requestCancel(caller.userId);
      return { changed: true };
    });
  }

  /** Ends the run; one whose cancellation is requested ends as CANCELLED. */
  async end(writer: RunWriter, end: RunEnd): Promise<void> {
    if (endOf(writer.current, end.status) === end.status) await this.close(writer, end);
    else await this.cancel(writer);
  }

  /** Ends the run as CANCELLED: by SESSION_CLOSED when its session is deleted, else by USER_CANCEL. */
  async cancel(writer: RunWriter): Promise<void> {
    const { tenantId, sessionId } = writer.run;
    const session = await this.store.sessions.find(tenantId, sessionId);
    const stopReason = session?.deletedAt ? 'SESSION_CLOSED' : 'USER_CANCEL';
    await this.close(writer, { status: 'CANCELLED', stopReason });
  }

  /** Expires the due approvals of the run and ends it as FAILED. Nothing happens when nothing is due. */
  async expire(writer: RunWriter): Promise<void> {
    const expired = await this.store.approvals.expire(writer.run);
    if (expired.length === 0) return;
    for (const { id: approvalId, toolCallId, revision } of expired) {
      const data = { approvalId, state: 'EXPIRED', revision } as const;
      writer.event('approval.expired', data, { toolCallId, approvalId });
    }
    if (writer.current.waitKind !== 'TOOL') return;
    const message = msg`A tool call was not approved in time. Start a new run to continue.`;
    await this.end(writer, failedEnd('APPROVAL_EXPIRED', message));
  }

  private async close(writer: RunWriter, end: RunEnd): Promise<void> {
    const { run } = writer;
    const open = await this.store.messages.unansweredCalls(run);
    for (const effect of open) await this.answer(writer, effect);
    // A command that this process ran itself has left nothing in the workspace.
    const isOwnCommand = !writer.isAnothers && !run.recovering;
    const ownCommands = isOwnCommand ? open.filter(isBegunCommand) : [];
    if (ownCommands.length > 0) await this.store.locks.markTidied(run);
    for (const command of ownCommands) {
      await this.database.afterCommit(() => this.results.outputs.remove(command));
    }
    for (const { id, toolCallId } of await this.store.approvals.cancelPending(run)) {
      writer.event(
        'approval.resolved',
        { approvalId: id, state: 'CANCELLED' },
        { approvalId: id, toolCallId },
      );
    }
    const code = end.status === 'CANCELLED' ? 'RUN_CANCELLED' : 'RUN_FAILED';
    for (const effectId of await this.store.modelCalls.abandonOpen(run)) {
      writer.event('model.turn.abandoned', { effectId, outcome: 'ABANDONED', code });
    }
    if (!writer.isAnothers && !(run.recovering && open.some(isBegunCommand))) {
      await this.store.locks.release(run);
    }
    writer.end(end);
  }

  private async answer(writer: RunWriter, effect: RunEffect): Promise<void> {
    if (isSettled(effect.state)) {
      await this.results.answer(writer, effect);
      return;
    }
    const state = abandonedAs(effect);
    const result = state === 'UNCERTAIN' ? UNKNOWN : NOT_RUN;
    await this.results.finish(writer, effect, { state, result, errorCode: state });
    if (state === 'UNCERTAIN' && effect.state !== 'UNCERTAIN') {
      writer.event(
        'effect.uncertain',
        { toolName: effect.toolName, reason: 'The run ended while it was running.' },
        { toolCallId: effect.toolCallId },
      );
    }
  }
}

function isBegunCommand({ effectClass, state }: RunEffect): boolean {
  return effectClass === 'SHELL' && state === 'STARTED';
}

const NEW_RUN = msg`Changes made so far are kept; start a new run to continue.`;

export function failedEnd(stopReason: StopReason, message: Message): RunEnd {
  return { status: 'FAILED', stopReason, error: { code: stopReason, message } };
}

/** The end of a run that has used up its budget; undefined while some is left. A limit of 0 is no limit. */
export function budgetEnd(run: HarnessRun, heldMs: number): RunEnd | undefined {
  const { budget } = run;
  const limits: readonly (readonly [StopReason, number, number, Message])[] = [
    ['MAX_STEPS', run.iteration, budget.maxIterations, msg`model calls`],
    ['MAX_TOOL_CALLS', run.toolCalls, budget.maxToolCalls, msg`tool calls`],
    ['MAX_TOKENS', run.inputTokens, budget.maxInputTokens, msg`input tokens`],
    ['MAX_TOKENS', run.outputTokens, budget.maxOutputTokens, msg`output tokens`],
    ['MAX_WALL_TIME', run.activeMs + heldMs, budget.maxWallTimeMillis, msg`milliseconds of work`],
  ];
  const reached = limits.find(([, used, limit]) => limit > 0 && used >= limit);
  if (!reached) return undefined;
  const [stopReason, , limit, what] = reached;
  return failedEnd(
    stopReason,
    sentences([msg`The run has reached its limit of ${limit} ${what}.`, NEW_RUN]),
  );
}

/** The end of a run whose model makes no progress; `kind` is that of a LoopFinding, or `format`. */
export function loopEnd(kind: string): RunEnd {
  if (kind === 'format' || kind === 'invalid_input') {
    return failedEnd(
      'FORMAT_ERRORS',
      sentences([
        msg`The model gave too many answers in a row that cannot be used.`,
        NEW_RUN,
        msg`Another model may do better.`,
      ]),
    );
  }
  if (kind === 'refused_call') {
    return failedEnd(
      'CALLS_REFUSED',
      sentences([
        msg`The model kept calling tools that were not offered to it, and each call was refused. Changes and commands need an approved plan and a permission mode that allows them.`,
        NEW_RUN,
      ]),
    );
  }
  return failedEnd(
    'LOOP_DETECTED',
    sentences([msg`The model repeats the same calls without progress.`, NEW_RUN]),
  );
}

/** The end of a run whose model service refuses the request. The service's own words are part of the message. */
export function refusalEnd({ kind, userMessage: message }: UpstreamError): RunEnd {
  if (kind === 'authentication') return failedEnd('MODEL_AUTH', message);
  if (kind === 'not-found') return failedEnd('MODEL_NOT_FOUND', message);
  return failedEnd('MODEL_REFUSED', message);
}

export interface LoopFinding {
  readonly kind: 'identical_call' | 'alternating_calls' | 'invalid_input' | 'refused_call';
  readonly count: number;
  /** The count at which the run is stopped. */
  readonly limit: number;
}

export interface LoopVerdict {
  readonly warning?: LoopFinding;
  readonly stop?: LoopFinding;
}

const IDENTICAL = { warn: 3, stop: 5 } as const;
const ALTERNATING_PAIRS = { warn: 4, stop: 6 } as const;
const INVALID = { warn: 3, stop: 5 } as const;

/** Number of past calls that `loopVerdict` needs: six answers with 16 executed calls each. */
export const LOOP_WINDOW = 96;

/**
 * Whether a model loops: the same call repeated, two calls alternating, or calls that are never valid: malformed ones, or
 * ones of tools that the run is not offered. The calls of one answer count once, because the model has seen no result
 * in between. Another call in between, such as a change of a file, makes the same call a new one: tests are run again.
 * `calls` are settled ones, the oldest first.
 */
export function loopVerdict(calls: readonly PastCall[]): LoopVerdict {
  const findings = [
    // First, because they say more than that a call was repeated.
    judged('refused_call', refused(calls), INVALID),
    judged('invalid_input', invalid(calls), INVALID),
    judged('identical_call', identical(calls), IDENTICAL),
    judged('alternating_calls', alternating(calls), ALTERNATING_PAIRS),
  ];
  const stop = findings.find((one) => one?.stop)?.stop;
  if (stop) return { stop };
  return findings.find((one) => one?.warning) ?? {};
}

function judged(
  kind: LoopFinding['kind'],
  count: number,
  { warn, stop }: { readonly warn: number; readonly stop: number },
): LoopVerdict | undefined {
  const finding = { kind, count, limit: stop };
  if (count >= stop) return { stop: finding };
  return count >= warn ? { warning: finding } : undefined;
}

/** Number of last answers in a row in which the call was the same. */
function identical(calls: readonly PastCall[]): number {
  const last = calls.at(-1);
  if (!last) return 0;
  return answersAfter(
    calls,
    calls.findLastIndex((call) => !isSame(call, last)),
  );
}

/** Number of pairs A-B at the end of the calls; those of one answer count once. */
function alternating(calls: readonly PastCall[]): number {
  const [a, b] = calls.slice(-2);
  if (!a || !b || isSame(a, b)) return 0;
  let pairs = 0;
  for (let end = calls.length; end >= 2; end -= 2) {
    const [first, second] = calls.slice(end - 2, end);
    if (!first || !second || !isSame(first, a) || !isSame(second, b)) break;
    pairs += 1;
  }
  return Math.min(pairs, answersAfter(calls, calls.length - 1 - 2 * pairs));
}

/** Number of last answers in a row whose calls were of tools that were not offered. */
function refused(calls: readonly PastCall[]): number {
  return answersAfter(
    calls,
    calls.findLastIndex(({ errorCode }) => errorCode !== 'TOOL_NOT_OFFERED'),
  );
}

/** Number of last answers in a row whose calls were malformed or refused. */
function invalid(calls: readonly PastCall[]): number {
  return answersAfter(
    calls,
    calls.findLastIndex(({ state }) => state !== 'INVALID'),
  );
}

/** Number of answers to which the calls after the index belong. */
function answersAfter(calls: readonly PastCall[], index: number): number {
  return new Set(calls.slice(index + 1).map(({ iteration }) => iteration)).size;
}

function isSame(one: PastCall, other: PastCall): boolean {
  return one.toolName === other.toolName && one.argumentsSha256 === other.argumentsSha256;
}
