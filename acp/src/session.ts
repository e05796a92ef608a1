import { randomUUID } from 'node:crypto';
import { methods, RequestError } from '@agentclientprotocol/sdk';
import type {
  AgentContext,
  ContentBlock,
  PermissionOption,
  PromptResponse,
  SessionUpdate,
  StopReason,
  ToolCall,
} from '@agentclientprotocol/sdk';
import { ApiError } from '@plinth/client';
import type {
  ApprovalView,
  HarnessEvent,
  HarnessSessionView,
  OpenEffectView,
  PlanView,
  Plinth,
  RunView,
} from '@plinth/client';
import { requirementOf } from './prompt.js';
import type { Requirement } from './prompt.js';
import { MODES } from './settings.js';
import type { Mode } from './settings.js';
import { chunk, dataOf, SessionUpdates, textContent } from './updates.js';

/** What a session in an editor is made of. */
export interface SessionFacts {
  readonly plinth: Plinth;
  readonly editor: Pick<AgentContext, 'request' | 'notify'>;
  readonly view: HarnessSessionView;
  /** Folder of the editor that is the workspace. */
  readonly cwd: string;
  readonly showsTerminals: boolean;
}

type Decision = ApprovalView['available'][number];

const DECISIONS: Readonly<Record<Decision, Omit<PermissionOption, 'optionId'>>> = {
  APPROVE: { kind: 'allow_once', name: 'Allow' },
  APPROVE_SESSION: { kind: 'allow_always', name: 'Allow for this session' },
  DENY: { kind: 'reject_once', name: 'Deny' },
  DENY_AND_STOP: { kind: 'reject_once', name: 'Deny and stop' },
};

/** The stop reasons of a run that ends without an error for the editor. */
const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  MAX_TOKENS: 'max_tokens',
  MAX_STEPS: 'max_turn_requests',
  MAX_TOOL_CALLS: 'max_turn_requests',
  MODEL_REFUSED: 'refusal',
  APPROVAL_REJECTED_STOP: 'cancelled',
};

/** The events after which a run may wait for a person. */
const WAITS = ['run.waiting_for_approval', 'run.waiting_for_input', 'run.suspended'];
/** The events with which a question is answered, here or elsewhere. */
const ANSWERS = [
  'approval.resolved',
  'approval.expired',
  'plan.approved',
  'plan.revision.requested',
  'effect.resolved',
];

const MAX_TITLE_CHARS = 80;
const MAX_REPLAYED_RUNS = 100;
const EVENT_PAGE = 1_000;

/** A run that is shown, until it ends or the editor has its turn. */
interface Turn {
  readonly runId: string;
  readonly response: Promise<PromptResponse>;
  /** Gives the editor its turn although the run has not ended. */
  readonly yield: () => void;
}

/**
 * A harness session in an editor: prompts are runs, events are updates, and what a run waits for is a permission request.
 * Runs go on without the editor; a session that is loaded again shows what was missed.
 */
export class EditorSession {
  readonly id: string;
  /** Mode and model of the next run. */
  mode: Mode;
  model: string;
  private isNamed: boolean;
  private readonly updates: SessionUpdates;
  private turn: Turn | undefined;
  /** Number of the last event of each run that was shown. */
  private readonly shown = new Map<string, number>();
  /** Questions that the editor shows. */
  private readonly asked = new Map<string, AbortController>();

  constructor(
    private readonly facts: SessionFacts,
    { isNew }: { readonly isNew: boolean },
  ) {
    this.id = facts.view.sessionId;
    this.updates = new SessionUpdates(facts);
    this.mode = facts.view.permissionMode;
    this.model = facts.view.model;
    this.isNamed = !isNew;
  }

  /** The modes that runs of the session may have. */
  get modes(): readonly Mode[] {
    return MODES.slice(0, MODES.indexOf(this.facts.view.permissionMode) + 1);
  }

  /** Shows what the session's last runs have done. Events are kept for a time, requirements longer. */
  async replay(): Promise<void> {
    const query = { pageSize: MAX_REPLAYED_RUNS };
    const runs = await this.facts.plinth.runList({ path: { sessionId: this.id }, query });
    for (const { runId, originalRequirement } of runs.toReversed()) {
      await this.update(chunk('user_message_chunk', originalRequirement));
      for (let isMore = true; isMore;) {
        const afterSequence = this.shown.get(runId) ?? 0;
        const events = await this.facts.plinth.eventList({
          path: this.pathOf(runId),
          query: { afterSequence, limit: EVENT_PAGE },
        });
        for (const event of events) {
          const words = dataOf(event, 'input.queued') ?? dataOf(event, 'plan.revision.requested');
          if (words) await this.update(chunk('user_message_chunk', words.content));
          await this.show(event);
        }
        isMore = events.length > 0;
      }
    }
  }

  /** Follows a run that has not ended, and asks again for what it waits for. */
  async resume(): Promise<void> {
    const run = await this.activeRun();
    if (!run) return;
    if (!this.shown.has(run.runId)) this.shown.set(run.runId, run.lastEventSequence);
    // Its failure is the run's, which the editor has not asked for.
    this.follow(run.runId).response.catch(() => undefined);
    this.askFor(run);
  }

  /** Sends the prompt as a run, or to the one that has not ended, and shows it until the editor has its turn. */
  async prompt(prompt: readonly ContentBlock[]): Promise<PromptResponse> {
    const requirement = requirementOf(prompt, this.facts.cwd);
    const active = await this.activeRun();
    if (active) {
      const turn = this.follow(active.runId);
      await this.answer(active, requirement);
      return turn.response;
    }
    if (!this.isNamed) await this.name(requirement.text);
    const { runId } = await this.facts.plinth.runCreate({
      path: { sessionId: this.id },
      body: {
        requirement: requirement.text,
        images: requirement.images.map(({ dataUrl }) => ({ dataUrl })),
        model: this.model,
        permissionMode: this.mode,
        idempotencyKey: randomUUID(),
      },
    });
    return this.follow(runId).response;
  }

  /** Cancels the run that has not ended. */
  async cancel(): Promise<void> {
    const run = await this.activeRun();
    if (run) await this.facts.plinth.runCancel({ path: this.pathOf(run.runId) });
  }

  /** Stops showing the run, which goes on. */
  close(): void {
    this.turn?.yield();
  }

  private pathOf(runId: string): { sessionId: string; runId: string } {
    return { sessionId: this.id, runId };
  }

  private async activeRun(): Promise<RunView | undefined> {
    const { plinth } = this.facts;
    const { activeRunId } = await plinth.harnessSessionGet({ path: { sessionId: this.id } });
    return activeRunId === null ? undefined : plinth.runGet({ path: this.pathOf(activeRunId) });
  }

  private async name(text: string): Promise<void> {
    const [line = ''] = text.trim().split('\n');
    const title = [...line].slice(0, MAX_TITLE_CHARS).join('');
    this.isNamed = true;
    if (title === '') return;
    await this.facts.plinth.harnessSessionRename({ path: { sessionId: this.id }, body: { title } });
    await this.update({ sessionUpdate: 'session_info_update', title });
  }

  /** Says to a run that has not ended what the person wants: another plan, an answer, or a change of course. */
  private async answer(run: RunView, { text, images }: Requirement): Promise<void> {
    if (images.length > 0) {
      throw new RequestError(
        INVALID,
        'A run goes on. Send images when it has ended, or cancel it.',
      );
    }
    const { plinth } = this.facts;
    const path = this.pathOf(run.runId);
    if (run.status === 'WAITING_FOR_INPUT' && run.plan?.reviewState === 'AWAITING_APPROVAL') {
      const body = { ...planKey(run.plan), feedbackId: randomUUID(), content: text };
      await plinth.planRevise({ path, body });
      return;
    }
    const body = { kind: 'STEER', content: text, idempotencyKey: randomUUID() } as const;
    await plinth.runAddInput({ path, body });
    const isUncertain = Object.values(run.toolEffects).some(({ state }) => state === 'UNCERTAIN');
    if (run.status === 'SUSPENDED' && !isUncertain) await plinth.runResume({ path });
  }

  /** Shows the events of the run that were not shown. One that is followed already is not followed twice. */
  private follow(runId: string): Turn {
    if (this.turn?.runId === runId) return this.turn;
    const leaving = new AbortController();
    const response = this.read(runId, leaving.signal).finally(() => {
      if (this.turn === turn) this.turn = undefined;
    });
    const turn = { runId, response, yield: () => leaving.abort() };
    this.turn = turn;
    return turn;
  }

  private async read(runId: string, signal: AbortSignal): Promise<PromptResponse> {
    const options = { after: this.shown.get(runId) ?? 0, signal };
    try {
      for await (const event of this.facts.plinth.streamRunEvents(this.id, runId, options)) {
        await this.show(event);
        const response = await this.afterEvent(event);
        if (response) return response;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return { stopReason: 'end_turn' };
  }

  /** Asks for what the run waits for; the response when the editor has its turn. */
  private async afterEvent(event: HarnessEvent): Promise<PromptResponse | undefined> {
    const { runId, type } = event;
    if (ANSWERS.includes(type)) this.asked.get(questionOf(event))?.abort();
    if (WAITS.includes(type)) {
      const run = await this.facts.plinth.runGet({ path: this.pathOf(runId) });
      this.askFor(run);
      return this.asksForText(run) ? { stopReason: 'end_turn' } : undefined;
    }
    if (type === 'run.completed') return { stopReason: 'end_turn' };
    if (type === 'run.cancelled') return { stopReason: 'cancelled' };
    const failure = dataOf(event, 'run.failed');
    if (!failure) return undefined;
    const stopReason = STOP_REASONS[failure.stopReason];
    if (stopReason) return { stopReason };
    throw new RequestError(FAILED, failure.error?.message ?? failure.stopReason);
  }

  /** Whether the run waits for what only a prompt can say. */
  private asksForText(run: RunView): boolean {
    const isUncertain = Object.values(run.toolEffects).some(({ state }) => state === 'UNCERTAIN');
    const isSuspended = run.status === 'SUSPENDED' && !isUncertain;
    const hint = isSuspended ? run.error?.message : run.question?.text;
    if (hint) void this.update(chunk('agent_message_chunk', `\n\n${hint}`));
    return isSuspended || run.question !== null;
  }

  private askFor(run: RunView): void {
    for (const approval of Object.values(run.approvals)) this.askApproval(approval);
    for (const effect of Object.values(run.toolEffects)) {
      if (effect.state === 'UNCERTAIN') this.askEffect(run.runId, effect);
    }
    const { plan } = run;
    const isWaiting = run.status === 'WAITING_FOR_INPUT';
    if (isWaiting && plan?.reviewState === 'AWAITING_APPROVAL') this.askPlan(run.runId, plan);
  }

  private askApproval(approval: ApprovalView): void {
    const { approvalId, runId, expectedRevision, argumentsSha256, available } = approval;
    const options = available.map((optionId) => ({ optionId, ...DECISIONS[optionId] }));
    this.ask(approvalId, this.updates.asked(approval), options, async (optionId) => {
      const decision = available.find((one) => one === optionId);
      if (!decision) return;
      await this.facts.plinth.approvalResolve({
        path: { ...this.pathOf(runId), approvalId },
        body: { decisionId: randomUUID(), decision, expectedRevision, argumentsSha256 },
      });
    });
  }

  /** A plan that is refused stays: the next prompt says what to change. */
  private askPlan(runId: string, plan: PlanView): void {
    const call: ToolCall = {
      toolCallId: `${plan.taskId}-${plan.revision}`,
      title: `Plan, version ${plan.revision}`,
      kind: 'switch_mode',
      status: 'pending',
      content: [textContent(plan.planMarkdown)],
    };
    const options: PermissionOption[] = [
      { optionId: 'approve', kind: 'allow_once', name: 'Approve the plan' },
      { optionId: 'change', kind: 'reject_once', name: 'Say what to change' },
    ];
    this.ask(call.toolCallId, call, options, async (optionId) => {
      const isApproved = optionId === 'approve';
      if (isApproved) {
        const body = { ...planKey(plan), idempotencyKey: randomUUID() };
        await this.facts.plinth.planApprove({ path: this.pathOf(runId), body });
      }
      await this.update({
        sessionUpdate: 'tool_call_update',
        toolCallId: call.toolCallId,
        status: isApproved ? 'completed' : 'failed',
      });
      if (!isApproved) this.turn?.yield();
    });
  }

  private askEffect(runId: string, { toolCallId, toolName }: OpenEffectView): void {
    const call: ToolCall = {
      toolCallId,
      title: `${toolName}: was it executed? The service stopped while it ran.`,
      status: 'pending',
    };
    const options: PermissionOption[] = [
      { optionId: 'EXECUTED', kind: 'allow_once', name: 'It was executed' },
      { optionId: 'NOT_EXECUTED', kind: 'reject_once', name: 'It was not executed' },
    ];
    this.ask(toolCallId, call, options, async (optionId) => {
      const resolution = optionId === 'EXECUTED' ? 'EXECUTED' : 'NOT_EXECUTED';
      const path = { ...this.pathOf(runId), toolCallId };
      await this.facts.plinth.effectResolve({ path, body: { resolution } });
    });
  }

  /** Shows a question once. It is withdrawn when it is answered elsewhere; one that is dismissed stays open on the server. */
  private ask(
    key: string,
    toolCall: ToolCall,
    options: PermissionOption[],
    decide: (optionId: string) => Promise<void>,
  ): void {
    if (this.asked.has(key)) return;
    const withdrawal = new AbortController();
    this.asked.set(key, withdrawal);
    const asking = async (): Promise<void> => {
      await this.update({ ...toolCall, sessionUpdate: 'tool_call' });
      const { outcome } = await this.facts.editor.request(
        methods.client.session.requestPermission,
        { sessionId: this.id, toolCall, options },
        { cancellationSignal: withdrawal.signal, stopWaitingOnCancel: true },
      );
      if (outcome.outcome === 'selected' && !withdrawal.signal.aborted) {
        await decide(outcome.optionId);
      }
    };
    asking()
      .catch(async (error: unknown) => {
        // It is answered already, or withdrawn.
        const isAnswered = error instanceof ApiError && error.code === 409;
        if (withdrawal.signal.aborted || isAnswered) return;
        const message = error instanceof Error ? error.message : String(error);
        await this.update(chunk('agent_message_chunk', `\n\n${message}`));
      })
      .catch(() => undefined)
      .finally(() => this.asked.delete(key));
  }

  private async show(event: HarnessEvent): Promise<void> {
    this.shown.set(event.runId, event.sequence);
    for (const update of this.updates.of(event)) await this.update(update);
  }

  private async update(update: SessionUpdate): Promise<void> {
    await this.facts.editor.notify(methods.client.session.update, { sessionId: this.id, update });
  }
}

/** Codes of JSON-RPC errors: the request is wrong; the run has failed. */
const INVALID = -32602;
const FAILED = -32000;

/** The key under which the answered question was asked. */
function questionOf({ approvalId, toolCallId, data, type }: HarnessEvent): string {
  if (approvalId !== null) return approvalId;
  if (type === 'effect.resolved') return toolCallId ?? '';
  return `${String(data['taskId'])}-${String(data['revision'])}`;
}

function planKey({ taskId, expectedRevision, canonicalHash: expectedHash }: PlanView): {
  taskId: string;
  expectedRevision: number;
  expectedHash: string;
} {
  return { taskId, expectedRevision, expectedHash };
}
