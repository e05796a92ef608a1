import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { storableText } from '../../store/storable.js';
import { PLAN_STEPS, planHash, STEP_STATUSES } from '../../protocol/plan.js';
import type { Plan, PlanStep } from '../../protocol/plan.js';
import { newId } from '../../protocol/ids.js';
import { ToolError } from '../../fault/tool.error.js';
import type { OfferFacts, RunTool, RunToolDecision, ToolContext } from '../tool.js';

const input = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        id: z.string().max(20).optional().describe('Of a step of the plan, such as s1.'),
        text: z.string().trim().min(1).max(1_000),
        status: z.enum(STEP_STATUSES),
      }),
    )
    .min(1)
    .max(PLAN_STEPS),
});
type Input = z.infer<typeof input>;
type GivenStep = Input['steps'][number];

const MARKS = { PENDING: ' ', IN_PROGRESS: '>', DONE: 'x', SKIPPED: '-' } as const;

/** Says how far a run is. */
@Injectable()
export class PlanStepTool implements RunTool<Input> {
  readonly name = 'plan_step';
  readonly effectClass = 'META';
  readonly input = input;
  readonly description = `Says how far you are, for the people who watch. Give the steps whose status has changed, with their ids; a step without an id is added to the list (at most ${PLAN_STEPS} in all). At most one step is IN_PROGRESS. It changes what is shown, never what you may do. In a read-only run it keeps your own list of steps: give the whole list each time.`;

  title({ steps }: Input): string {
    return `progress of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}`;
  }

  refusal({ phase }: OfferFacts): string | undefined {
    return phase === 'BUILD'
      ? undefined
      : 'There is no approved plan yet. Submit one with plan_create.';
  }

  async decide({ steps: given }: Input, { run, plan }: ToolContext): Promise<RunToolDecision> {
    const updated =
      run.permissionMode === 'READ_ONLY' ? listed(plan, given) : progressed(plan, given);
    const { steps } = updated;
    if (steps.filter(({ status }) => status === 'IN_PROGRESS').length > 1) {
      throw new ToolError(
        'PLAN_ERROR',
        'At most one step may be IN_PROGRESS. Finish one, or set it back to PENDING, in the same call.',
      );
    }
    const done = steps.filter(({ status }) => status === 'DONE').length;
    return {
      kind: 'update-plan',
      plan: updated,
      outcome: {
        content: steps.map(({ id, text, status }) => `[${MARKS[status]}] ${id} ${text}`).join('\n'),
        summary: `${done} of ${steps.length} steps done`,
      },
    };
  }
}

/** The model's own list: it is not approved and allows nothing. */
function listed(plan: Plan | null, given: readonly GivenStep[]): Plan {
  const steps = given.map(({ text, status }, index) => ({
    id: `s${index + 1}`,
    text: storableText(text),
    status,
  }));
  const content = { summary: '', steps, files: [], risks: [] };
  return {
    taskId: plan?.taskId ?? newId(),
    revision: 1,
    ...content,
    canonicalHash: planHash(content),
    reviewState: 'DRAFT',
  };
}

/** The approved plan with other statuses. Nothing that was approved changes: neither texts nor files nor the hash. */
function progressed(plan: Plan | null, given: readonly GivenStep[]): Plan {
  if (plan?.reviewState !== 'APPROVED') {
    throw new ToolError(
      'PLAN_ERROR',
      'There is no approved plan yet. Submit one with plan_create.',
    );
  }
  const steps = given.reduce(withStep, plan.steps);
  if (steps.length > PLAN_STEPS) {
    throw new ToolError(
      'PLAN_ERROR',
      `A plan has at most ${PLAN_STEPS} steps. Name the steps that there are by their ids instead of adding some.`,
    );
  }
  return { ...plan, steps };
}

function withStep(
  steps: readonly PlanStep[],
  { id, text, status }: GivenStep,
): readonly PlanStep[] {
  const storable = storableText(text);
  const known = steps.find((step) => (id === undefined ? step.text === storable : step.id === id));
  if (known) return steps.map((step) => (step === known ? { ...step, status } : step));
  if (id !== undefined) {
    throw new ToolError(
      'PLAN_ERROR',
      `There is no step ${id}. The steps are ${steps.map((step) => step.id).join(', ')}; leave the id out to add one.`,
    );
  }
  return [...steps, { id: `s${steps.length + 1}`, text: storable, status, added: true }];
}
