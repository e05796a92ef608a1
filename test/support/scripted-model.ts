import { z } from 'zod';
import type { ScriptStep, Simulator } from '../../simulator/index.js';
import type { Harness, RunView } from './harness.js';

type Calls = NonNullable<ScriptStep['toolCalls']>;

/** The arguments as an object, or as the exact text that the model writes. */
export function call(name: string, given: object | string = {}, id?: string): Calls {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return [{ name, arguments: text, ...(id !== undefined && { id }) }];
}

/** An answer that calls one tool. */
export function calling(...[name, given, id]: Parameters<typeof call>): ScriptStep {
  return { toolCalls: call(name, given, id) };
}

/** An answer that reaches its length limit in the middle of a tool call. */
export const CUT_IN_CALL: ScriptStep = {
  text: 'Let me look.',
  ...calling('look_up', '{"word": "ne'),
  finishReason: 'length',
};

export const DONE: ScriptStep = { text: 'Done.' };

/** A plan that allows the files. */
export function planning(...files: string[]): ScriptStep {
  return calling('plan_create', { summary: 'As told', steps: [{ text: 'Do it' }], files });
}

/** A session that asks nobody, so that a change is made if anything lets it through. */
export const FREE = { permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' } as const;
export const READ_ONLY = { permissionMode: 'READ_ONLY' } as const;

const toolMessage = z.object({
  role: z.string(),
  runId: z.string(),
  content: z.string(),
  toolCallId: z.string().nullable(),
  toolName: z.string().nullable(),
  toolError: z.boolean(),
  metadata: z.object({ code: z.string().optional() }),
});

/** What the tools answered, the first one first. */
export async function toolResults(
  harness: Harness,
  run: Pick<RunView, 'sessionId' | 'runId'>,
): Promise<z.output<typeof toolMessage>[]> {
  const messages = z.array(toolMessage).parse(await harness.messages(run));
  return messages.filter(({ role, runId }) => role === 'TOOL' && runId === run.runId);
}

const sentMessage = z.object({
  role: z.string(),
  content: z.string().nullable(),
  tool_call_id: z.string().optional(),
  tool_calls: z.array(z.object({ id: z.string() })).default([]),
});
const sentBody = z.object({ messages: z.array(sentMessage) });
export type SentMessage = z.output<typeof sentMessage>;

/** What the model was sent in chat-completions, request by request. */
export function sentTo(simulator: Pick<Simulator, 'requests'>): SentMessage[][] {
  return simulator.requests.map(({ body }) => sentBody.parse(body).messages);
}

const planShape = z.object({
  taskId: z.string(),
  revision: z.number(),
  canonicalHash: z.string(),
});

/** What approves the plan that is shown in the run. */
export function planDecision({ plan }: RunView): Record<string, unknown> {
  const { taskId, revision, canonicalHash } = planShape.parse(plan);
  return {
    taskId,
    expectedRevision: revision,
    expectedHash: canonicalHash,
    idempotencyKey: `approve-${revision}`,
  };
}

/** Approves the plan that the run waits with. */
export async function approvePlan(harness: Harness, run: RunView): Promise<void> {
  const body = planDecision(await harness.waitFor(run, 'WAITING_FOR_INPUT'));
  const answer = await harness.post(run, '/plan/approve', body);
  if (answer.code !== 200) throw new Error(answer.msg);
}

const approvalShape = z.object({
  approvalId: z.string(),
  expectedRevision: z.number(),
  argumentsSha256: z.string(),
});

/** The one approval that the run waits for, and what approves it. */
export function approvalDecision({ approvals }: RunView): {
  readonly approvalId: string;
  readonly body: Record<string, unknown>;
} {
  const waiting = z.record(z.string(), approvalShape).parse(approvals);
  const [approval, ...others] = Object.values(waiting);
  if (!approval || others.length > 0) throw new Error('The run does not wait for one approval.');
  const { approvalId, expectedRevision, argumentsSha256 } = approval;
  const decision = { decisionId: `decide-${approvalId}`, decision: 'APPROVE' };
  return { approvalId, body: { ...decision, expectedRevision, argumentsSha256 } };
}
