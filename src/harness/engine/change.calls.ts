import { Injectable, Logger } from '@nestjs/common';
import { UserCallers } from '../../identity/index.js';
import { commandGrant, pathGrants, subjectHash } from '../store/approval.ask.js';
import type { ApprovalAsk } from '../store/approval.ask.js';
import type { GrantSubject } from '../protocol/approval.js';
import { GrantRepository } from '../store/grant.repository.js';
import { decidePolicy, mayCarryOn } from '../protocol/policy.js';
import type { PolicySubject } from '../protocol/policy.js';
import { RollBackFailedError, ToolError } from '../fault/tool.error.js';
import { FileChanges } from '../change/file-changes.js';
import type { FileOperation } from '../workspace/file-operation.js';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import { HarnessSwitches } from '../store/harness.switches.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { EffectRepository } from '../store/effect.repository.js';
import { PartialOutputs } from './partial.outputs.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { EventDataOf } from '../store/event.catalogue.js';
import { RunLedger } from '../store/run.ledger.js';
import { FencedError } from '../protocol/lease.js';
import { SecretMask } from '../store/secret-mask.js';
import type { BoundCall, ToolContext } from '../tool/tool.js';
import { failedOutcome, shellOutcome } from './call.outcome.js';
import type { CallOutcome } from './call.outcome.js';
import { CallRecord } from './call.record.js';
import { filesSubject } from './call.subject.js';
import type { CallResult, CallTurn } from './call.turn.js';
import { PermissionRevokedError, UnrecordedError } from './loop.errors.js';
import { ProcessPresence } from './process.presence.js';

type ChangeCall = Extract<BoundCall, { effectClass: 'FILE' | 'SHELL' }>;
type FileCall = Extract<BoundCall, { effectClass: 'FILE' }>;
type ShellCall = Extract<BoundCall, { effectClass: 'SHELL' }>;

interface Work<Call> {
  readonly call: Call;
  readonly context: ToolContext;
  readonly started: number;
}

/** Whether a person has agreed to the very call that is about to be carried out. */
interface Consent {
  readonly isGiven: boolean;
  ask(grants: readonly GrantSubject[], notes?: readonly string[]): ApprovalAsk;
}

/**
 * Carries out calls that change something: decided, asked for where the policy says so, written down before they begin,
 * and recorded with what they have changed.
 */
@Injectable()
export class ChangeCalls {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly record: CallRecord,
    private readonly files: FileChanges,
    private readonly snapshots: WorkspaceSnapshots,
    private readonly outputs: PartialOutputs,
    private readonly grants: GrantRepository,
    private readonly switches: HarnessSwitches,
    private readonly callers: UserCallers,
    private readonly presence: ProcessPresence,
    private readonly mask: SecretMask,
  ) {}

  async carryOut(
    turn: CallTurn,
    effect: HarnessEffect,
    work: Work<ChangeCall>,
  ): Promise<CallResult> {
    const { call, context, started } = work;
    return call.effectClass === 'FILE'
      ? this.change(turn, effect, { call, context, started })
      : this.command(turn, effect, { call, context, started });
  }

  /** Throws APPROVAL_STALE when a person has agreed to something else than what would happen now. */
  consent(
    { approvals, secrets }: CallTurn,
    { toolCallId, toolName, argumentsJson, input }: HarnessEffect,
    {
      title,
      operations,
    }: { readonly title: string; readonly operations: readonly FileOperation[] },
  ): Consent {
    const approval = approvals.get(toolCallId);
    const hash = subjectHash({ toolName, input, operations });
    const isGiven = approval?.state === 'APPROVED';
    if (isGiven && approval.subjectHash !== hash) {
      throw new ToolError(
        'APPROVAL_STALE',
        'Not run: the files have changed since a person agreed to this call. Read them again and repeat the call.',
      );
    }
    const asked = {
      ...{ toolCallId, toolName, subjectHash: hash },
      argumentsJson: this.mask.apply(argumentsJson, secrets),
      summary: this.mask.apply(title, secrets),
    };
    return { isGiven, ask: (grants, notes = []) => ({ ...asked, grants, notes }) };
  }

  startData(
    { secrets }: CallTurn,
    { toolName, effectClass, argumentsJson }: HarnessEffect,
    title: string,
  ): EventDataOf['tool.started'] {
    return {
      toolName,
      title: this.mask.apply(title, secrets),
      effectClass,
      argumentsJson: this.mask.apply(argumentsJson, secrets),
    };
  }

  private async change(
    turn: CallTurn,
    effect: HarnessEffect,
    { call, context, started }: Work<FileCall>,
  ): Promise<CallResult> {
    const { run, workspace, held } = turn;
    const plan = await call.plan(context);
    const operations = plan.files.map(({ operation }) => operation);
    const grants = await this.grants.allowed(run);
    const subject = filesSubject(plan, { workspace, plan: run.plan, grants });
    const consent = this.consent(turn, effect, { title: call.title, operations });
    const verdict = decide(turn, subject);
    if (verdict.verdict === 'ask' && !consent.isGiven) {
      return { kind: 'ask', ask: consent.ask(verdict.grantable ? pathGrants(subject.files) : []) };
    }
    await this.requireWrites(turn);
    const target = { tenantId: run.tenantId, workspace };
    await this.files.keep(run.tenantId, plan.files);
    await this.begin(turn, effect, { title: call.title, operations });
    const outcome = await this.applied(turn, async () => {
      await this.files.apply(target, operations, held.effectSignal).catch((error: unknown) => {
        // Whatever has stopped it, what was done has been taken back.
        const isAsBefore = !(error instanceof ToolError || error instanceof RollBackFailedError);
        throw isAsBefore && held.cause === 'cancelled' ? cancelled() : error;
      });
      const changes = await this.files.describe(run, operations);
      const { content, summary } = plan;
      return { state: 'SUCCEEDED', content, summary, operations, changes };
    });
    if (!outcome) return { kind: 'unsettled' };
    await this.write(turn, effect, { outcome, durationMs: performance.now() - started });
    return { kind: 'done' };
  }

  private async command(
    turn: CallTurn,
    effect: HarnessEffect,
    { call, context, started }: Work<ShellCall>,
  ): Promise<CallResult> {
    const { run, held } = turn;
    const consent = this.consent(turn, effect, { title: call.title, operations: [] });
    const granted = (await this.grants.allowed(run)).command(call.command);
    const verdict = decide(turn, { kind: 'shell', granted });
    if (verdict.verdict === 'ask' && !consent.isGiven) {
      const grants = verdict.grantable ? [commandGrant(call.command)] : [];
      return { kind: 'ask', ask: consent.ask(grants, await this.notes(turn)) };
    }
    await this.requireWrites(turn);
    const outcome = await this.applied(turn, () => this.ran(turn, effect, { call, context }));
    // A command that the stop of this process has ended: its settlement looks at what it has done.
    if (!outcome || (held.cause === 'stopping' && outcome.state === 'CANCELLED')) {
      return { kind: 'unsettled' };
    }
    await this.write(turn, effect, { outcome, durationMs: performance.now() - started });
    await this.outputs.remove(effect);
    return { kind: 'done' };
  }

  private async ran(
    turn: CallTurn,
    effect: HarnessEffect,
    { call, context }: Pick<Work<ShellCall>, 'call' | 'context'>,
  ): Promise<CallOutcome> {
    const { run, held, secrets } = turn;
    const { title } = call;
    const output = this.outputs.begin(effect, (bytes) => this.mask.applyToBytes(bytes, secrets));
    try {
      const done = await call.run({ ...context, onOutput: output.add }, (snapshotSha256) =>
        this.begin(turn, effect, { title, operations: [], snapshotSha256 }),
      );
      return shellOutcome(done, await this.files.describe(run, done.changes));
    } catch (error) {
      // Its own reason means that the command was not started; one that was is stopped, and has an outcome.
      const { effectSignal } = held;
      const isItsReason = effectSignal.aborted && error === effectSignal.reason;
      throw held.cause === 'cancelled' && isItsReason ? cancelled() : error;
    } finally {
      await output.end();
    }
  }

  /** From here on a failure must not be taken for one of the tool: it has done its work. */
  private async write(
    turn: CallTurn,
    effect: HarnessEffect,
    what: { readonly outcome: CallOutcome; readonly durationMs: number },
  ): Promise<void> {
    try {
      await this.record.write(turn, effect, what);
    } catch (error) {
      if (error instanceof FencedError) throw error;
      throw new UnrecordedError('The outcome of a call could not be stored.', { cause: error });
    }
  }

  /** What the person who is asked should know of it; a look that fails or is slow keeps nobody from being asked. */
  private async notes({ workspace, held }: CallTurn): Promise<string[]> {
    const note = await this.snapshots.restorable(workspace, held.signal).catch((error: unknown) => {
      const { runId } = held.lease;
      this.logger.warn({ msg: 'Nobody could say what could be undone', runId, err: error });
      return null;
    });
    return note === null ? [] : [note];
  }

  /** Undefined when it may have begun and nobody can say here how it ended: the settlement looks. */
  private async applied(
    { held }: CallTurn,
    act: () => Promise<CallOutcome>,
  ): Promise<CallOutcome | undefined> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ToolError) return failedOutcome(error);
      if (error instanceof FencedError) throw error;
      this.logger.warn({
        msg: 'A call ended without an outcome',
        runId: held.lease.runId,
        err: error,
      });
      return undefined;
    }
  }

  /** Commits what is about to happen, before it does. */
  private async begin(
    { held, run, ...turn }: CallTurn,
    effect: HarnessEffect,
    what: {
      readonly title: string;
      readonly operations: readonly FileOperation[];
      readonly snapshotSha256?: string | undefined;
    },
  ): Promise<void> {
    const { toolCallId, iteration } = effect;
    const { title, operations, snapshotSha256 } = what;
    await this.ledger.asOwner(held.lease, async (writer) => {
      const { boot } = this.presence;
      const start = { fence: held.lease.fence, boot, operations, snapshotSha256 };
      if (!(await this.effects.start(run, toolCallId, start))) {
        throw new Error(`The effect ${toolCallId} is not prepared, and must not be begun.`);
      }
      const data = this.startData({ held, run, ...turn }, effect, title);
      writer.event('tool.started', data, { toolCallId, stepId: stepIdOf(iteration) });
    });
  }

  private async requireWrites({ run }: CallTurn): Promise<void> {
    if (!(await this.switches.writesEnabled())) {
      throw new ToolError(
        'WRITES_DISABLED',
        'An operator has stopped all changes for now. Tell the user what is left to do, and stop.',
      );
    }
    const { userId, homeTenantId, tenantId } = run;
    const caller = await this.callers.find({ userId, homeTenantId, tenantId });
    if (!caller || !mayCarryOn(caller, run)) throw new PermissionRevokedError();
  }
}

function cancelled(): ToolError {
  return new ToolError('CANCELLED', 'Cancelled before it was done; the files are as before.');
}

function decide(
  { run }: CallTurn,
  subject: PolicySubject,
): { readonly verdict: 'allow' } | { readonly verdict: 'ask'; readonly grantable: boolean } {
  const decision = decidePolicy(run, subject);
  if (decision.verdict === 'deny') throw new ToolError(decision.code, decision.message);
  return decision;
}
