import type { HarnessEvent } from '@plinth/client';
import {
  approvalOf,
  changeOf,
  planOf,
  resolutionOf,
  resultOf,
  startedCallOf,
  text,
  uncertainOf,
  usageOf,
  verdictOf,
} from './event-data';
import type { Approval, Call, Data, FileChange, Plan, Uncertain, Usage } from './event-data';

/** State of a run, derived from its events. */
export type RunStatus =
  | 'QUEUED'
  | 'RUNNING'
  | 'WAITING_FOR_APPROVAL'
  | 'WAITING_FOR_INPUT'
  | 'SUSPENDED'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELLED';

/** A short note; the name is a text key (`note.…`). */
export type NoteName =
  | 'serverRestart'
  | 'limitOfLiveRuns'
  | 'workspaceBusy'
  | 'recovering'
  | 'recovered'
  | 'cancelRequested'
  | 'modelRetrying'
  | 'compacted'
  | 'warning'
  | 'undone'
  | 'redone'
  | 'resumed';

interface ItemOf<Kind extends string> {
  readonly kind: Kind;
  readonly key: string;
  readonly at: number;
}

export type Item =
  | (ItemOf<'requirement'> & { readonly text: string })
  | (ItemOf<'answer'> & {
      readonly text: string;
      readonly thinking: string;
      readonly thinkingMs: number | undefined;
      readonly state: 'writing' | 'done' | 'abandoned';
    })
  | (ItemOf<'plan'> & { readonly plan: Plan })
  | (ItemOf<'reads'> & { readonly calls: readonly Call[] })
  | (ItemOf<'call'> & { readonly call: Call })
  | (ItemOf<'approval'> & { readonly approval: Approval })
  | (ItemOf<'uncertain'> & { readonly uncertain: Uncertain })
  | (ItemOf<'question'> & { readonly question: string; readonly answered: boolean })
  | (ItemOf<'provider'> & {
      readonly code: string;
      readonly message: string;
      readonly resolved: boolean;
    })
  | (ItemOf<'input'> & {
      readonly inputKind: string;
      readonly content: string;
      readonly consumed: boolean;
    })
  | (ItemOf<'note'> & {
      readonly name: NoteName;
      readonly values: Readonly<Record<string, string | number>>;
      readonly bad: boolean;
    })
  | (ItemOf<'end'> & {
      readonly status: RunStatus;
      readonly stopReason: string;
      readonly error: { readonly code: string; readonly message: string } | undefined;
    });

export interface Timeline {
  readonly items: readonly Item[];
  readonly status: RunStatus | undefined;
  readonly phase: 'PLAN' | 'BUILD' | undefined;
  readonly model: string;
  readonly usage: Usage | undefined;
  /** Increases when the run's record may have changed, so that its query is reloaded. */
  readonly revision: number;
  /** Number of file changes, including undos. */
  readonly fileChanges: number;
  readonly cancelRequested: boolean;
}

export const EMPTY: Timeline = {
  items: [],
  status: undefined,
  phase: undefined,
  model: '',
  usage: undefined,
  revision: 0,
  fileChanges: 0,
  cancelRequested: false,
};

const QUEUE_NOTES: Readonly<Record<string, NoteName>> = {
  server_restart: 'serverRestart',
  limit_of_live_runs: 'limitOfLiveRuns',
  workspace_busy: 'workspaceBusy',
  resumed: 'resumed',
};

/** Tools that are shown as a plan or a question instead of a call. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['plan_create', 'plan_step', 'ask_user']);

/** Builds the timeline from the events of a run. Unchanged items keep their identity. */
export class TimelineBuilder {
  private readonly items: Item[] = [];
  private readonly places = new Map<string, number>();
  private rest: Omit<Timeline, 'items'> = EMPTY;
  private last = 0;

  get snapshot(): Timeline {
    return { ...this.rest, items: [...this.items] };
  }

  /** Applies an event; returns false if it was already applied. */
  add(event: HarnessEvent): boolean {
    if (event.sequence <= this.last) return false;
    this.last = event.sequence;
    const { data } = event;
    if (typeof data['status'] === 'string' && event.type.startsWith('run.')) {
      this.rest = {
        ...this.rest,
        status: data['status'] as RunStatus,
        phase: data['phase'] as Timeline['phase'],
        revision: event.sequence,
      };
    }
    if (event.type.startsWith('run.')) this.addRunEvent(event, data);
    else if (/^(plan|approval|effect)\./.test(event.type)) this.addDecision(event, data);
    else if (/^(tool|file)\./.test(event.type)) this.addCall(event, data);
    else if (/^(assistant|model)\./.test(event.type)) this.addAnswer(event, data);
    else this.addOther(event, data);
    return true;
  }

  private addRunEvent({ type, sequence, timestamp: at }: HarnessEvent, data: Data): void {
    const key = `e${sequence}`;
    switch (type) {
      case 'run.created':
        this.rest = { ...this.rest, model: text(data['model']) };
        this.push({ kind: 'requirement', key, at, text: text(data['requirement']) });
        break;
      case 'run.queued': {
        const name = QUEUE_NOTES[text(data['reason'])];
        this.answerWaiting();
        if (name) this.note(key, at, name);
        break;
      }
      case 'run.waiting_for_input':
        if (data['reason'] === 'question') {
          const question = text(data['question']);
          this.push({ kind: 'question', key, at, question, answered: false });
        }
        break;
      case 'run.suspended':
        if (data['waitKind'] === 'PROVIDER') {
          const { code, message } = data;
          this.push({
            kind: 'provider',
            key,
            at,
            resolved: false,
            code: text(code),
            message: text(message),
          });
        }
        break;
      case 'run.recovering':
        this.note(key, at, 'recovering');
        break;
      case 'run.recovered':
        this.note(key, at, 'recovered');
        break;
      case 'run.cancel.requested':
        this.rest = { ...this.rest, cancelRequested: true };
        this.note(key, at, 'cancelRequested');
        break;
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
        this.end(key, at, data);
        break;
      case 'run.diff':
        this.rest = { ...this.rest, fileChanges: sequence };
    }
  }

  private end(key: string, at: number, data: Data): void {
    this.answerWaiting();
    this.closeAnswers();
    const { status, stopReason, error } = data;
    this.push({
      kind: 'end',
      key,
      at,
      status: status as RunStatus,
      stopReason: text(stopReason),
      error: error as { code: string; message: string } | undefined,
    });
  }

  /** A run that continues or ends has no pending decision. */
  private answerWaiting(): void {
    for (const item of [...this.items]) {
      if (item.kind === 'question' && !item.answered) this.put({ ...item, answered: true });
      if (item.kind === 'provider' && !item.resolved) this.put({ ...item, resolved: true });
    }
  }

  private closeAnswers(): void {
    for (const item of [...this.items]) {
      if (item.kind === 'answer' && item.state === 'writing') this.put({ ...item, state: 'done' });
    }
  }

  private addDecision(event: HarnessEvent, data: Data): void {
    const { type, sequence, timestamp: at, approvalId, toolCallId } = event;
    switch (type) {
      case 'plan.created':
      case 'plan.updated':
        this.addPlan(event, data);
        break;
      case 'plan.awaiting_approval':
        this.changePlan({
          state: 'AWAITING_APPROVAL',
          hash: text(data['canonicalHash']),
          revision: Number(data['expectedRevision']),
        });
        break;
      case 'plan.approved':
        this.changePlan({ state: 'APPROVED' });
        break;
      case 'plan.revision.requested':
        this.changePlan({ state: 'REVISION_REQUESTED', feedback: text(data['content']) });
        break;
      case 'approval.requested': {
        const approval = approvalOf(data, at);
        this.push({ kind: 'approval', key: `a${approval.approvalId}`, at, approval });
        break;
      }
      case 'approval.resolved':
      case 'approval.expired': {
        const item = this.find(`a${approvalId ?? text(data['approvalId'])}`);
        if (item?.kind === 'approval') {
          this.put({ ...item, approval: { ...item.approval, ...verdictOf(data) } });
        }
        break;
      }
      case 'effect.uncertain': {
        const uncertain = uncertainOf(data, toolCallId ?? '', this.callOf(toolCallId));
        this.push({ kind: 'uncertain', key: `u${toolCallId ?? sequence}`, at, uncertain });
        break;
      }
      case 'effect.resolved': {
        const item = this.find(`u${toolCallId ?? ''}`);
        if (item?.kind === 'uncertain') {
          this.put({ ...item, uncertain: { ...item.uncertain, ...resolutionOf(data) } });
        }
      }
    }
  }

  private addPlan({ type, sequence, timestamp: at }: HarnessEvent, data: Data): void {
    const newPlan = planOf(data);
    const current = this.lastPlan();
    if (type === 'plan.updated' && current) {
      this.put({ ...current, plan: { ...current.plan, ...newPlan } });
      return;
    }
    if (current && current.plan.state !== 'REVISION_REQUESTED') {
      this.put({ ...current, plan: { ...current.plan, state: 'REPLACED' } });
    }
    const plan: Plan = { ...newPlan, state: 'DRAFT', hash: undefined, feedback: undefined };
    this.push({ kind: 'plan', key: `p${sequence}`, at, plan });
  }

  private lastPlan(): Extract<Item, { kind: 'plan' }> | undefined {
    return this.items.findLast((item) => item.kind === 'plan');
  }

  private changePlan(change: Partial<Plan>): void {
    const current = this.lastPlan();
    if (current) this.put({ ...current, plan: { ...current.plan, ...change } });
  }

  private addCall(event: HarnessEvent, data: Data): void {
    const { type, timestamp: at, toolCallId } = event;
    if (type === 'file.changed') {
      this.rest = { ...this.rest, fileChanges: event.sequence };
      this.addFile(toolCallId, changeOf(data));
      return;
    }
    if (!toolCallId || SHOWN_ELSEWHERE.has(text(data['toolName']))) return;
    if (type === 'tool.started') {
      this.pushCall(startedCallOf(data, toolCallId, at));
      return;
    }
    const result = resultOf(data);
    this.changeCall(toolCallId, (call) => ({ ...call, ...result }));
  }

  private addFile(toolCallId: string | null, file: FileChange): void {
    // File changes of a command do not name their call, so they belong to the last one.
    const last = this.items.findLast((item) => item.kind === 'call');
    const id = toolCallId ?? last?.call.toolCallId;
    if (id) this.changeCall(id, (call) => ({ ...call, files: [...call.files, file] }));
  }

  /** Consecutive reading calls share a row, even with text of the model in between. */
  private pushCall(call: Call): void {
    const { toolCallId, effectClass, at } = call;
    if (effectClass !== 'READ') {
      this.push({ kind: 'call', key: `c${toolCallId}`, at, call });
      return;
    }
    const previous = this.items.at(-1);
    if (previous?.kind === 'reads') {
      this.put({ ...previous, calls: [...previous.calls, call] });
      this.places.set(`c${toolCallId}`, this.items.length - 1);
      return;
    }
    this.push({ kind: 'reads', key: `r${toolCallId}`, at, calls: [call] });
    this.places.set(`c${toolCallId}`, this.items.length - 1);
  }

  private callOf(toolCallId: string | null): Call | undefined {
    const item = this.find(`c${toolCallId ?? ''}`);
    if (item?.kind === 'call') return item.call;
    if (item?.kind !== 'reads') return undefined;
    return item.calls.find((call) => call.toolCallId === toolCallId);
  }

  private changeCall(toolCallId: string, change: (call: Call) => Call): void {
    const item = this.find(`c${toolCallId}`);
    if (item?.kind === 'call') this.put({ ...item, call: change(item.call) });
    if (item?.kind !== 'reads') return;
    const calls = item.calls.map((call) => (call.toolCallId === toolCallId ? change(call) : call));
    this.put({ ...item, calls });
  }

  private addAnswer({ type, timestamp: at, sequence }: HarnessEvent, data: Data): void {
    const key = `m${text(data['effectId'])}`;
    const item = this.find(key);
    const answer = item?.kind === 'answer' ? item : undefined;
    switch (type) {
      case 'assistant.text.delta': {
        const thinkingMs = answer?.thinking ? (answer.thinkingMs ?? at - answer.at) : undefined;
        const text = (answer?.text ?? '') + String(data['delta']);
        this.putAnswer(key, at, { ...answer, text, thinkingMs });
        break;
      }
      case 'assistant.thinking.delta':
        this.putAnswer(key, at, {
          ...answer,
          thinking: (answer?.thinking ?? '') + String(data['delta']),
        });
        break;
      case 'assistant.completed': {
        const answerText = text(data['text']);
        if (answerText === '' && !answer?.thinking) break;
        const thinkingMs = answer?.thinking ? (answer.thinkingMs ?? at - answer.at) : undefined;
        this.putAnswer(key, at, { ...answer, text: answerText, thinkingMs, state: 'done' });
        break;
      }
      case 'model.turn.abandoned':
        if (answer) this.put({ ...answer, state: 'abandoned' });
        break;
      case 'model.retrying':
        this.note(`e${sequence}`, at, 'modelRetrying', {
          seconds: Math.max(1, Math.round(Number(data['delayMs']) / 1_000)),
          retry: Number(data['retry']),
          most: Number(data['maxRetries']),
        });
    }
  }

  private putAnswer(
    key: string,
    at: number,
    fields: Partial<Extract<Item, { kind: 'answer' }>>,
  ): void {
    const newAnswer = {
      text: '',
      thinking: '',
      thinkingMs: undefined,
      state: 'writing' as const,
      at,
    };
    const item: Item = { ...newAnswer, ...fields, kind: 'answer', key };
    if (this.places.has(key)) this.put(item);
    else this.push(item);
  }

  private addOther({ type, timestamp: at, sequence }: HarnessEvent, data: Data): void {
    const key = `e${sequence}`;
    switch (type) {
      case 'input.queued': {
        const { inputId, kind, content } = data;
        this.rest = { ...this.rest, revision: sequence };
        this.push({
          kind: 'input',
          key: `i${text(inputId)}`,
          at,
          consumed: false,
          inputKind: text(kind),
          content: text(content),
        });
        break;
      }
      case 'input.consumed': {
        const item = this.find(`i${text(data['inputId'])}`);
        this.rest = { ...this.rest, revision: sequence };
        if (item?.kind === 'input') this.put({ ...item, consumed: true });
        break;
      }
      case 'usage.updated':
        this.rest = { ...this.rest, usage: usageOf(data) };
        break;
      case 'context.compacted':
        this.note(key, at, 'compacted', {
          before: Number(data['beforeTokens']),
          after: Number(data['afterTokens']),
        });
        break;
      case 'loop.warning':
      case 'limit.warning': {
        const { kind, count, limit } = data;
        const values = { kind: text(kind), count: Number(count), limit: Number(limit) };
        this.push({ kind: 'note', key, at, name: 'warning', values, bad: true });
        break;
      }
      case 'undo.applied':
      case 'redo.applied': {
        const { files } = data as { files: readonly string[] };
        this.rest = { ...this.rest, fileChanges: sequence };
        const name = type === 'undo.applied' ? 'undone' : 'redone';
        this.note(key, at, name, { count: files.length });
      }
    }
  }

  private note(
    key: string,
    at: number,
    name: NoteName,
    values: Readonly<Record<string, string | number>> = {},
  ): void {
    this.push({ kind: 'note', key, at, name, values, bad: false });
  }

  private find(key: string): Item | undefined {
    const place = this.places.get(key);
    return place === undefined ? undefined : this.items[place];
  }

  private push(item: Item): void {
    this.places.set(item.key, this.items.length);
    this.items.push(item);
  }

  private put(item: Item): void {
    const place = this.places.get(item.key);
    if (place !== undefined) this.items[place] = item;
  }
}

const ENDED: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

export function isEnded(status: string | undefined): boolean {
  return status !== undefined && ENDED.has(status);
}

/** Pending decisions, oldest first. */
export type Pending = Extract<
  Item,
  { kind: 'approval' | 'plan' | 'question' | 'uncertain' | 'provider' }
>;

export function pendingOf({ items, status }: Timeline): readonly Pending[] {
  if (isEnded(status)) return [];
  return items.filter((item): item is Pending => {
    if (item.kind === 'approval') return item.approval.state === 'PENDING';
    if (item.kind === 'plan') return item.plan.state === 'AWAITING_APPROVAL';
    if (item.kind === 'question') return !item.answered;
    if (item.kind === 'provider') return !item.resolved;
    return item.kind === 'uncertain' && item.uncertain.resolution === undefined;
  });
}
