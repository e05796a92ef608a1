import { Database } from '../../src/platform/database/index.js';
import { processId } from '../../src/platform/lease/index.js';
import { EffectRepository, subjectHash } from '../../src/effect/index.js';
import type { ApprovalAsk, EffectClass, FileOperation } from '../../src/effect/index.js';
import { ToolConsent } from '../../src/harness/engine/tool.consent.js';
import { ToolResults } from '../../src/harness/engine/tool.results.js';
import { RUN_JOB, RunLedger } from '../../src/harness/store/run.ledger.js';
import type { RunWriter } from '../../src/harness/store/run.ledger.js';
import { MessageRepository } from '../../src/harness/store/message.repository.js';
import { proposalEvents } from '../../src/harness/store/event.catalogue.js';
import { planHash } from '../../src/harness/protocol/policy.js';
import type { Plan } from '../../src/harness/protocol/policy.js';
import type { WaitKind } from '../../src/harness/protocol/run.state.js';
import { newId, sha256 } from '../../src/harness/protocol/values.js';
import { RunRepository, SessionRepository } from '../../src/harness/store/run.repository.js';
import { WorkspaceLockRepository } from '../../src/harness/store/workspace-lock.repository.js';
import { JobQueue } from '../../src/platform/queue/index.js';
import { freshKey } from './harness.js';
import type { Plinth } from './plinth.js';
import { literal } from '../../src/platform/message/index.js';

/** A tool call of a parked run, before anybody has decided about it. */
export interface ParkedCall {
  readonly toolName: string;
  readonly effectClass: EffectClass;
  readonly input: Readonly<Record<string, unknown>>;
  readonly grants?: ApprovalAsk['grants'];
  /** What an uncertain call was to change. */
  readonly operations?: readonly FileOperation[];
  /** Of the workspace before a command. */
  readonly snapshotSha256?: string;
}

export interface ParkedRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly toolCallIds: readonly string[];
}

const EDIT: ParkedCall = {
  toolName: 'write_file',
  effectClass: 'FILE',
  input: { path: 'src/new.js', content: 'export {};\n' },
  grants: [{ kind: 'PATH', subject: 'src/new.js' }],
};
export const SHELL: ParkedCall = {
  toolName: 'shell',
  effectClass: 'SHELL',
  input: { command: 'npm test' },
  grants: [{ kind: 'COMMAND', subject: 'npm test' }],
};
export const CALLS = { EDIT, SHELL };

const PLAN = {
  summary: 'Fix add()',
  steps: [{ id: 's1', text: 'Change the sign', status: 'PENDING' }],
  files: ['src/add.js'],
  risks: [],
} as const;

/**
 * Puts runs into the states in which they wait for a person, each in one transaction, so that no worker sees them before.
 * The session must have no unfinished run.
 */
export class ParkedRuns {
  private readonly database: Database;
  private readonly ledger: RunLedger;
  private readonly effects: EffectRepository;
  private readonly messages: MessageRepository;

  constructor(private readonly plinth: Pick<Plinth, 'app'>) {
    this.database = plinth.app.get(Database);
    this.ledger = plinth.app.get(RunLedger);
    this.effects = plinth.app.get(EffectRepository);
    this.messages = plinth.app.get(MessageRepository);
  }

  /** Waits for consent to each of the calls. */
  async tool(sessionId: string, calls: readonly ParkedCall[] = [EDIT]): Promise<ParkedRun> {
    return this.park(sessionId, 'TOOL', async (writer) => {
      const ids = await this.prepare(writer, calls);
      const rows = await this.plinth.app.get(ToolConsent).requestApprovals(
        writer,
        calls.map((call, at) => askOf(call, ids[at] ?? '')),
      );
      const pendingApprovals = rows.map(({ id }) => id);
      writer.park('TOOL');
      writer.event('run.waiting_for_approval', { ...writer.statusData, pendingApprovals });
      return ids;
    });
  }

  /** Waits for the review of a plan. */
  async plan(sessionId: string, over: Partial<Plan> = {}): Promise<ParkedRun & { plan: Plan }> {
    const content = { ...PLAN, ...over };
    const plan: Plan = {
      taskId: newId(),
      revision: 1,
      ...content,
      canonicalHash: planHash(content),
      reviewState: 'AWAITING_APPROVAL',
    };
    const run = await this.park(sessionId, 'PLAN', async (writer) => {
      writer.set({ plan });
      writer.events(proposalEvents(plan));
      writer.park('PLAN');
      writer.event('run.waiting_for_input', { ...writer.statusData, reason: 'plan' });
      return [];
    });
    return { ...run, plan };
  }

  /** Waits for the answer to a question. */
  async question(sessionId: string, text: string): Promise<ParkedRun> {
    const ask: ParkedCall = { toolName: 'ask_user', effectClass: 'META', input: { text } };
    return this.park(sessionId, 'QUESTION', async (writer) => {
      const ids = await this.prepare(writer, [ask]);
      writer.set({ question: { toolCallId: ids[0] ?? '', text, options: ['yes', 'no'] } });
      writer.park('QUESTION');
      const data = { ...writer.statusData, reason: 'question', question: text } as const;
      writer.event('run.waiting_for_input', data);
      return ids;
    });
  }

  /** Suspended with calls of which nobody knows what they have done. */
  async uncertain(sessionId: string, calls: readonly ParkedCall[] = [SHELL]): Promise<ParkedRun> {
    return this.park(sessionId, 'EFFECT', async (writer) => {
      const ids = await this.prepare(writer, calls);
      for (const [at, id] of ids.entries()) {
        const { operations = [] } = calls[at] ?? {};
        await this.effects.start(writer.run, id, { fence: 1, boot: 'gone', operations });
        await this.effects.markUncertain(writer.run, id);
      }
      writer.set({ errorCode: 'uncertain_tool_effect', errorMessage: literal('Nobody knows.') });
      writer.park('EFFECT');
      const data = { waitKind: 'EFFECT', code: 'uncertain_tool_effect', message: 'x' } as const;
      writer.event('run.suspended', { ...writer.statusData, ...data, effectIds: ids });
      return ids;
    });
  }

  /** Suspended because its model service stayed away. */
  async provider(sessionId: string): Promise<ParkedRun> {
    return this.park(sessionId, 'PROVIDER', async (writer) => {
      const error = { code: 'model_unavailable', message: 'The service is away.' };
      writer.set({ errorCode: error.code, errorMessage: literal(error.message) });
      writer.park('PROVIDER');
      writer.event('run.suspended', { ...writer.statusData, waitKind: 'PROVIDER', ...error });
      return [];
    });
  }

  /** In the middle of the calls, by this process, which has let go of it. `takeUp` has it gone on with. */
  async lost(sessionId: string, calls: readonly ParkedCall[]): Promise<ParkedRun> {
    return this.park(sessionId, 'EFFECT', async (writer) => {
      const ids = await this.prepare(writer, calls);
      await this.takeWorkspace(writer);
      for (const [at, id] of ids.entries()) {
        const { operations = [], snapshotSha256 } = calls[at] ?? {};
        await this.effects.start(writer.run, id, {
          fence: 1,
          boot: processId,
          operations,
          snapshotSha256,
        });
      }
      return ids;
    });
  }

  /** Drops the lease of a parked run, as its owner does: only then does a worker go on with it once it is resumed. */
  async release({ runId }: ParkedRun): Promise<void> {
    await this.database.query(
      'UPDATE harness_run SET lease_owner = NULL, lease_boot = NULL, lease_until = NULL WHERE id = $1',
      [runId],
    );
  }

  /** Ends the lease of a lost run and tells the workers of it. */
  async takeUp(tenantId: string, { runId: id }: ParkedRun): Promise<void> {
    await this.database.query(
      'UPDATE harness_run SET lease_until = now() WHERE tenant_id = $1 AND id = $2',
      [tenantId, id],
    );
    await this.plinth.app.get(JobQueue).add(RUN_JOB, { id, data: { tenantId } });
  }

  /** Settles a call as a tool that has succeeded does. */
  async settle(tenantId: string, { runId }: ParkedRun, toolCallId: string): Promise<void> {
    await this.ledger.updateRun(tenantId, runId, async (writer) => {
      const effect = await this.effects.find(writer.run, toolCallId);
      if (!effect) throw new Error('There is no such call.');
      const outcome = { state: 'SUCCEEDED', result: 'done' } as const;
      await this.plinth.app.get(ToolResults).finish(writer, effect, outcome);
    });
  }

  /** As a claim does it. */
  private async takeWorkspace({ run }: RunWriter): Promise<void> {
    const { tenantId, sessionId, id: runId, fence } = run;
    const session = await this.plinth.app.get(SessionRepository).find(tenantId, sessionId);
    const { workspace = '' } = session ?? {};
    const locks = this.plinth.app.get(WorkspaceLockRepository);
    if (await locks.take({ tenantId, workspace, runId, fence })) return;
    throw new Error('Another run has the workspace.');
  }

  private async prepare(writer: RunWriter, calls: readonly ParkedCall[]): Promise<string[]> {
    const ids = calls.map(() => newId());
    writer.set({ iteration: 1 });
    const made = calls.map(({ toolName, effectClass, input }, ordinal) => ({
      toolCallId: ids[ordinal] ?? '',
      iteration: 1,
      ordinal,
      providerCallId: `call_${ordinal}`,
      toolName,
      effectClass,
      argumentsJson: JSON.stringify(input),
      argumentsSha256: sha256(JSON.stringify(input)),
      input,
    }));
    await this.effects.prepare(writer.run, made);
    await this.messages.append(writer.run, {
      role: 'ASSISTANT',
      content: '',
      toolCalls: made.map(({ toolCallId, toolName, argumentsJson }) => ({
        toolCallId,
        toolName,
        arguments: argumentsJson,
      })),
      finishReason: 'tool_calls',
    });
    return ids;
  }

  private async park(
    sessionId: string,
    waitKind: WaitKind,
    work: (writer: RunWriter) => Promise<readonly string[]>,
  ): Promise<ParkedRun> {
    const runId = newId();
    return this.database.transaction(async () => {
      const tenantId = await this.insert(sessionId, runId, waitKind);
      return this.ledger.updateRun(tenantId, runId, async (writer) => {
        writer.claim(newId(), 'test');
        await this.messages.append(writer.run, { role: 'USER', content: 'Fix add()' });
        return { sessionId, runId, toolCallIds: await work(writer) };
      });
    });
  }

  private async insert(sessionId: string, id: string, waitKind: WaitKind): Promise<string> {
    const [found] = await this.database.query<{ tenantId: string }>(
      'SELECT tenant_id AS "tenantId" FROM harness_session WHERE id = $1',
      [sessionId],
    );
    const tenantId = found?.tenantId ?? '';
    const session = await this.plinth.app.get(SessionRepository).find(tenantId, sessionId);
    if (!session) throw new Error(`There is no session ${sessionId}.`);
    const { userId, homeTenantId, modelName, permissionMode, approvalPolicy } = session;
    const { planPolicy, planFiles } = session;
    const inserted = await this.plinth.app.get(RunRepository).insert({
      id,
      tenantId,
      sessionId,
      userId,
      homeTenantId,
      requirement: 'Fix add()',
      traceparent: null,
      modelName,
      permissionMode,
      approvalPolicy,
      planPolicy,
      planFiles,
      budget: {
        maxIterations: 10,
        maxToolCalls: 10,
        maxInputTokens: 1_000_000,
        maxOutputTokens: 1_000_000,
        maxWallTimeMillis: 600_000,
      },
      phase: waitKind === 'PLAN' ? 'PLAN' : 'BUILD',
      idempotencyKey: freshKey(),
      idempotencyHash: sha256(id),
    });
    if (!inserted) throw new Error('The session has an unfinished run.');
    return tenantId;
  }
}

function askOf({ toolName, input, grants = [] }: ParkedCall, toolCallId: string): ApprovalAsk {
  return {
    toolCallId,
    toolName,
    argumentsJson: JSON.stringify(input),
    summary: `${toolName} it`,
    modelDescription: null,
    preview: { command: null, files: [], diff: null, diffTruncated: false },
    subjectHash: subjectHash({ toolName, input, operations: [] }),
    grants,
    notes: [literal('It can be undone.')],
  };
}
