import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import PQueue from 'p-queue';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { isConnectionFailure } from '../../platform/database/index.js';
import { ATTRIBUTE, OPERATION, recordsContent, traced } from '../../platform/tracing/index.js';
import { processId } from '../../platform/lease/index.js';
import type { ToolDefinition } from '../../provider/index.js';
import { FileChanges } from '../change/file-changes.js';
import { PermissionRevokedError, UnrecordedError } from './run.context.js';
import type { RunContext } from './run.context.js';
import { shownFiles, ToolConsent } from './tool.consent.js';
import type { ShownCall } from './tool.consent.js';
import { doneOutcome, failedOutcome, shellOutcome, ToolResults } from './tool.results.js';
import type { CallOutcome, ExecutedCall } from './tool.results.js';
import { RollBackFailedError, ToolError } from '../protocol/tool-call.js';
import type { ApprovalAsk, FileOperation, Grants, RunEffect } from '../../effect/index.js';
import { commandGrant, consentedPlan, pathGrants } from '../protocol/policy.js';
import type { Plan, FileSubject, PolicySubject } from '../protocol/policy.js';
import { CancelRequestedError, FencedError } from '../protocol/run.state.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { planData, proposalEvents, stepIdOf } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run.ledger.js';
import { RunStore } from '../store/run.ledger.js';
import { boundCall, givenArguments } from '../tool/tool.js';
import type {
  BoundCall,
  FilePlan,
  FileTool,
  HarnessTool,
  OfferFacts,
  Question,
  ReadTool,
  RunTool,
  ShellTool,
  ToolContext,
} from '../tool/tool.js';
import { ToolRegistry } from '../tool/tools.js';
import type { Workspace } from '../workspace/workspace.js';

const MAX_PARALLEL_READS = 4;
/** A read that takes longer says that it has begun before it says what it found. */
const QUICK_MS = 100;
/** Calls of one message that are executed. */
const MAX_CALLS_PER_MESSAGE = 16;

/** Outcome of one call. `ask`: it waits for consent. `recover`: it has begun, and recovery must find out how it ended. */
type CallResult = 'done' | 'parked' | 'recover' | { readonly ask: ApprovalAsk };

/** One call while it is executed. */
interface Execution<Tool extends HarnessTool = HarnessTool> extends BoundCall, ExecutedCall {
  readonly tool: Tool;
  readonly toolContext: ToolContext;
}

/**
 * Executes the tool calls of one message, in their order; consecutive reads run in parallel. Calls that need consent wait
 * until the others are done, and then park the run together. Calls that change the run itself come last.
 */
@Injectable()
export class ToolCalls {
  private readonly logger = new Logger('Harness');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly store: RunStore,
    private readonly registry: ToolRegistry,
    private readonly sandbox: Sandbox,
    private readonly results: ToolResults,
    private readonly files: FileChanges,
    private readonly consent: ToolConsent,
  ) {}

  /** Definitions of the tools that the run has now, for the model. */
  offered(context: RunContext): ToolDefinition[] {
    const skillNames = context.skills.list.map(({ name }) => name);
    return this.registry.definitions(this.offerOf(context), skillNames);
  }

  /** 'next' also when the work was stopped: `lease.cause` says why. FencedError, or what ends the run. */
  async execute(
    context: RunContext,
    effects: readonly RunEffect[],
  ): Promise<'next' | 'parked' | 'recover'> {
    const isStopped = (): boolean => context.lease.cause !== undefined;
    const asks: ApprovalAsk[] = [];
    for (const group of groups(effects.filter(({ effectClass }) => effectClass !== 'META'))) {
      if (isStopped()) return 'next';
      const tasks = group.map((effect) => () => this.executeOne(context, effect));
      for (const result of await inParallel(tasks, MAX_PARALLEL_READS)) {
        if (result === 'recover') return isStopped() ? 'next' : 'recover';
        if (typeof result === 'object') asks.push(result.ask);
      }
    }
    if (asks.length > 0) {
      await this.consent.park(context, asks);
      return 'parked';
    }
    const ofRun = effects.filter(({ effectClass }) => effectClass === 'META');
    for (const [index, effect] of ofRun.entries()) {
      if (isStopped()) return 'next';
      // The call before has changed the run: its plan, its phase or its question.
      if (index > 0) context.run = await this.store.ledger.leasedRun(context.lease.claim);
      if ((await this.executeOne(context, effect)) === 'parked') return 'parked';
    }
    return 'next';
  }

  private executeOne(context: RunContext, effect: RunEffect): Promise<CallResult> {
    const { toolCallId, effectClass } = effect;
    // A model can call a tool that does not exist.
    const toolName = this.registry.find(effect.toolName)?.name ?? '_OTHER';
    const attributes = () => ({
      [ATTRIBUTE.operation]: OPERATION.executeTool,
      [ATTRIBUTE.toolName]: toolName,
      [ATTRIBUTE.toolType]: 'function',
      [ATTRIBUTE.toolCallId]: toolCallId,
      [ATTRIBUTE.effectClass]: effectClass,
    });
    return traced(`${OPERATION.executeTool} ${toolName}`, { attributes }, async (span) => {
      if (recordsContent(span, effect.tenantId)) {
        span.set({ [ATTRIBUTE.toolArguments]: effect.argumentsJson });
      }
      const result = await this.executeCall(context, effect);
      span?.set({ [ATTRIBUTE.outcome]: typeof result === 'object' ? 'ask' : result });
      return result;
    });
  }

  private async executeCall(context: RunContext, effect: RunEffect): Promise<CallResult> {
    const call = { context, effect, startedAt: performance.now() };
    try {
      const { tool, ...bound } = this.bind(context, effect);
      const execution = { ...call, ...bound, toolContext: toolContextOf(context, effect) };
      switch (tool.effectClass) {
        case 'READ':
          return await this.read({ ...execution, tool });
        case 'FILE':
          return await this.changeFiles({ ...execution, tool });
        case 'SHELL':
          return await this.runCommand({ ...execution, tool });
        case 'META':
          return await this.changeRun({ ...execution, tool });
      }
    } catch (error) {
      await this.results.record(call, this.failure(context, effect, error));
      return 'done';
    }
  }

  /** The call with its arguments read. ToolError when it must not be executed at all. */
  private bind(context: RunContext, effect: RunEffect): BoundCall {
    const { toolName, ordinal, toolCallId } = effect;
    if (ordinal >= MAX_CALLS_PER_MESSAGE) {
      throw new ToolError(
        'LIMIT_REACHED',
        `Not run: only ${MAX_CALLS_PER_MESSAGE} calls of one message are executed. Call it again in the next message.`,
      );
    }
    const tool = this.registry.find(toolName);
    if (!tool) {
      throw new ToolError(
        'UNKNOWN_TOOL',
        `There is no tool named ${toolName.slice(0, 100)}. Use one of those you were given.`,
      );
    }
    const offer = this.offerOf(context);
    const why = this.registry.refusal(tool, offer);
    if (why !== undefined) {
      const isWithoutSandbox = toolName === 'shell' && !offer.sandboxAvailable;
      throw new ToolError(isWithoutSandbox ? 'SANDBOX_UNAVAILABLE' : 'TOOL_NOT_OFFERED', why);
    }
    const approval = context.approvals.get(toolCallId);
    if (approval?.state === 'DENIED') {
      const note = approval.note ? ` They say: ${approval.note}` : '';
      throw new ToolError(
        'DENIED',
        `A person has refused this call.${note} Do not repeat it; find another way or stop.`,
      );
    }
    return boundCall(tool, givenArguments(effect));
  }

  private offerOf({ run, skills }: RunContext): OfferFacts {
    const { permissionMode, approvalPolicy, phase } = run;
    return {
      permissionMode,
      approvalPolicy,
      phase,
      sandboxAvailable: this.sandbox.capability.available,
      mayAsk: this.config.HARNESS_ASK_USER,
      hasSkills: skills.list.length > 0,
    };
  }

  private async read(execution: Execution<ReadTool>): Promise<CallResult> {
    const { context, effect, tool, input, toolContext } = execution;
    const subject = await tool.subject(input, toolContext);
    const ask = await this.consent.ask(execution, { subject });
    if (ask) return { ask };
    const outcome = await this.announceWhenSlow(context, effect, tool.run(input, toolContext));
    await this.results.record(execution, doneOutcome(outcome));
    return 'done';
  }

  /**
   * Waits for a read, and stores that it has begun when it is slow; a quick one is spared the write. Ends only when the
   * read is no longer executing.
   */
  private async announceWhenSlow<T>(
    { lease, secrets }: RunContext,
    effect: RunEffect,
    reading: Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const announcing = sleep(QUICK_MS, true, { signal: over.signal })
      .catch(() => false)
      .then(async (isSlow) => {
        if (!isSlow) return;
        await this.store.ledger.asOwner(lease.claim, (writer) =>
          this.results.announce(writer, effect, secrets),
        );
      });
    const read = reading.finally(() => over.abort());
    const [, announced] = await Promise.allSettled([read, announcing]);
    if (announced.status === 'rejected') throw announced.reason;
    return read;
  }

  private async changeFiles(execution: Execution<FileTool>): Promise<CallResult> {
    const { context, tool, input, toolContext } = execution;
    const { run, workspace, lease } = context;
    const plan = await tool.plan(input, toolContext);
    const operations = plan.files.map(({ operation }) => operation);
    const allowed = await this.store.approvals.allowed(run);
    const subject = filesSubject(plan, { workspace, plan: consentedPlan(run), grants: allowed });
    const grants = pathGrants(subject.files);
    const shownCall = async (): Promise<ShownCall> =>
      shownFiles(plan.files, await this.files.preview(plan.files));
    const ask = await this.consent.ask(execution, { subject, operations, grants, shownCall });
    if (ask) return { ask };
    await this.consent.requireWrites(context);
    const target = { tenantId: run.tenantId, workspace };
    await this.files.keep(run.tenantId, plan.files);
    await this.begin(execution, { operations });
    const outcome = await this.outcomeOf(context, async () => {
      await this.files.apply(target, operations, lease.effectSignal).catch((error: unknown) => {
        // Any other error means that the changes were rolled back.
        const isAsBefore = !(error instanceof ToolError || error instanceof RollBackFailedError);
        throw isAsBefore && lease.cause === 'cancelled' ? cancelled() : error;
      });
      const changes = await this.files.describe(run, operations);
      const { content, summary } = plan;
      return { state: 'SUCCEEDED', content, summary, operations, changes };
    });
    if (!outcome) return 'recover';
    await this.recordChange(execution, outcome);
    return 'done';
  }

  private async runCommand(execution: Execution<ShellTool>): Promise<CallResult> {
    const { context, effect, tool, input } = execution;
    const { run, lease } = context;
    const command = tool.command(input);
    const granted = (await this.store.approvals.allowed(run)).command(command);
    const ask = await this.consent.ask(execution, {
      subject: { kind: 'shell', granted },
      grants: [commandGrant(command)],
      shownCall: async () => this.consent.shownCommand(context, command),
      notes: () => this.consent.undoNotes(context),
    });
    if (ask) return { ask };
    await this.consent.requireWrites(context);
    const outcome = await this.outcomeOf(context, () => this.executeCommand(execution));
    // A command that the stop of this process has ended: recovery looks at what it has done.
    if (!outcome || (lease.cause === 'stopping' && outcome.state === 'CANCELLED')) return 'recover';
    await this.recordChange(execution, outcome);
    await this.results.outputs.remove(effect);
    return 'done';
  }

  private async executeCommand(execution: Execution<ShellTool>): Promise<CallOutcome> {
    const { context, effect, tool, input, toolContext } = execution;
    const { run, lease, secrets } = context;
    const output = this.results.beginOutput(effect, secrets);
    try {
      const withOutput = { ...toolContext, onOutput: output.update };
      const done = await tool.run(input, withOutput, (snapshotSha256) =>
        this.begin(execution, { operations: [], snapshotSha256 }),
      );
      return shellOutcome(done, await this.files.describe(run, done.changes));
    } catch (error) {
      // The signal's own reason means that the command was not started; one that was is stopped, and has an outcome.
      const { effectSignal } = lease;
      const isNotStarted = effectSignal.aborted && error === effectSignal.reason;
      throw lease.cause === 'cancelled' && isNotStarted ? cancelled() : error;
    } finally {
      await output.end();
    }
  }

  private async changeRun(execution: Execution<RunTool>): Promise<CallResult> {
    const { effect, tool, input, toolContext } = execution;
    const decision = await tool.decide(input, toolContext);
    switch (decision.kind) {
      case 'update-plan': {
        const { plan, outcome } = decision;
        await this.results.record(execution, doneOutcome(outcome), (writer) => {
          writer.set({ plan });
          writer.event('plan.updated', planData(plan), { stepId: stepIdOf(effect.iteration) });
        });
        return 'done';
      }
      case 'propose-plan': {
        const { plan, summary } = decision;
        const isReviewed = plan.reviewState === 'AWAITING_APPROVAL';
        const content = isReviewed
          ? 'The plan is submitted. A person reviews it now; what follows tells whether it is approved.'
          : 'The plan is approved. Carry it out now.';
        await this.results.record(execution, doneOutcome({ content, summary }), (writer) =>
          submitPlan(writer, plan),
        );
        return isReviewed ? 'parked' : 'done';
      }
      case 'ask':
        return this.askUser(execution, decision.question);
    }
  }

  /**
   * Parks the run with the question; once it is answered, the answer is the call's result. Input from before the question
   * is no answer to it: it is consumed when the run parks, so that any later STEER is the answer.
   */
  private async askUser(execution: Execution, question: Question): Promise<CallResult> {
    const { context, effect } = execution;
    const { lease, run, secrets } = context;
    const { toolCallId } = effect;
    const isAsked = run.question?.toolCallId === toolCallId;
    const pending = isAsked ? await this.store.inputs.pending(run) : [];
    const answer = pending.find(({ kind }) => kind === 'STEER');
    if (!answer) {
      await this.store.ledger.asOwner(lease.claim, async (writer) => {
        await this.store.consumeInputs(writer, 'STEER');
        await this.results.announce(writer, effect, secrets);
        writer.set({ question: { toolCallId, ...question } });
        writer.park('QUESTION');
        const data = { ...writer.statusData, reason: 'question', question: question.text } as const;
        writer.event('run.waiting_for_input', data, { toolCallId });
      });
      return 'parked';
    }
    const content = `The user answers:\n${answer.content}`;
    const outcome = doneOutcome({ content, summary: 'answered' });
    await this.results.record(execution, outcome, async (writer, messageId) => {
      await this.store.inputs.consume(run, [answer.id]);
      writer.set({ question: null });
      const data = { inputId: answer.id, kind: answer.kind, messageId };
      writer.event('input.consumed', data, { toolCallId });
    });
    return 'done';
  }

  /** Write-ahead: commits what is about to happen, before it does. */
  private async begin(
    { context, effect }: Execution,
    what: {
      readonly operations: readonly FileOperation[];
      readonly snapshotSha256?: string | undefined;
    },
  ): Promise<void> {
    const { claim } = context.lease;
    await this.store.ledger.asOwner(claim, async (writer) => {
      const start = { fence: claim.fence, boot: processId, ...what };
      if (!(await this.store.effects.start(context.run, effect.toolCallId, start))) {
        throw new Error(`The effect ${effect.toolCallId} is not prepared and must not begin.`);
      }
      writer.events([this.results.started(effect, context.secrets)]);
    });
  }

  /** Undefined when the call may have begun and its outcome is unknown here: recovery looks. */
  private async outcomeOf(
    { lease }: RunContext,
    act: () => Promise<CallOutcome>,
  ): Promise<CallOutcome | undefined> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ToolError) return failedOutcome(error);
      if (error instanceof FencedError) throw error;
      const { runId } = lease.claim;
      this.logger.warn({ msg: 'Tool call ended without an outcome', runId, err: error });
      return undefined;
    }
  }

  /** From here on a failure is not the tool's, which has done its work. */
  private async recordChange(call: ExecutedCall, outcome: CallOutcome): Promise<void> {
    try {
      await this.results.record(call, outcome);
    } catch (error) {
      if (error instanceof FencedError) throw error;
      throw new UnrecordedError('Failed to store the outcome of a tool call.', { cause: error });
    }
  }

  /** Rethrows what is no outcome of the call: a lost lease, or an end of the run. */
  private failure({ lease }: RunContext, effect: RunEffect, error: unknown): CallOutcome {
    if (error instanceof ToolError) return failedOutcome(error);
    if (lease.cause || isBeyondTools(error)) throw error;
    const { toolName: tool, toolCallId, runId } = effect;
    this.logger.error({ msg: 'Tool failed unexpectedly', tool, toolCallId, runId, err: error });
    return failedOutcome(
      new ToolError(
        'FAILED',
        'The tool failed because of an internal error of the server. Nothing is known to have changed; try another way.',
      ),
    );
  }
}

/** Errors that say something about the run or the database, and nothing about the tool. */
function isBeyondTools(error: unknown): boolean {
  return (
    error instanceof FencedError ||
    error instanceof CancelRequestedError ||
    error instanceof PermissionRevokedError ||
    error instanceof UnrecordedError ||
    isConnectionFailure(error)
  );
}

/** Consecutive reads together, everything else alone. */
function groups(effects: readonly RunEffect[]): RunEffect[][] {
  const groups: RunEffect[][] = [];
  for (const effect of effects) {
    const group = groups.at(-1);
    const isRead = effect.effectClass === 'READ';
    if (isRead && group?.[0]?.effectClass === 'READ') group.push(effect);
    else groups.push([effect]);
  }
  return groups;
}

function toolContextOf(context: RunContext, { toolCallId }: RunEffect): ToolContext {
  const { run, workspace, skills, observedFiles: seen, lease } = context;
  return { run, workspace, skills, seen, toolCallId, signal: lease.effectSignal };
}

function cancelled(): ToolError {
  return new ToolError('CANCELLED', 'Cancelled before it was done; the files are as before.');
}

/** Stores the plan, and either parks the run for its review or goes on to build. */
function submitPlan(writer: RunWriter, plan: Plan): void {
  writer.set({ plan });
  writer.events(proposalEvents(plan));
  if (plan.reviewState === 'APPROVED') {
    writer.build();
    return;
  }
  writer.park('PLAN');
  writer.event('run.waiting_for_input', { ...writer.statusData, reason: 'plan' });
}

/** Policy subject of a change of files: which files are protected, planned, granted, or lost unread. */
export function filesSubject(
  { files }: FilePlan,
  {
    workspace,
    plan,
    grants,
  }: { readonly workspace: Workspace; readonly plan: Plan | null; readonly grants: Grants },
): PolicySubject & { readonly kind: 'files' } {
  const planned = plannedPaths(plan, workspace);
  return {
    kind: 'files',
    files: files.map(({ operation: { path, op }, unread }): FileSubject => {
      const { protection, secret } = workspace.classify(path);
      return {
        path,
        protection,
        secret,
        destructive: op === 'DELETE' || (op === 'UPDATE' && unread),
        planned: planned.has(path),
        granted: grants.path(path),
      };
    }),
  };
}

/** The paths that a plan approved by a person names, as tools normalise them. A path that no tool would take allows nothing. */
function plannedPaths(plan: Plan | null, workspace: Workspace): ReadonlySet<string> {
  const paths = new Set<string>();
  if (plan?.reviewState !== 'APPROVED') return paths;
  for (const file of plan.files) {
    try {
      paths.add(workspace.pathOf(file));
    } catch {
      // Said when the plan was made; it does no harm here.
    }
  }
  return paths;
}

/**
 * Executes the tasks with limited concurrency and returns the results in the order of the list. After a failure no
 * further task starts, and the failure is thrown once all running tasks have ended, so that resources can be closed.
 */
export async function inParallel<T>(
  tasks: readonly (() => Promise<T>)[],
  concurrency: number,
): Promise<T[]> {
  const queue = new PQueue({ concurrency });
  const results: T[] = [];
  let failure: { readonly cause: unknown } | undefined;
  for (const [index, task] of tasks.entries()) {
    void queue.add(async () => {
      try {
        results[index] = await task();
      } catch (cause) {
        failure ??= { cause };
        queue.clear();
      }
    });
  }
  await queue.onIdle();
  if (failure) throw failure.cause;
  return results;
}
