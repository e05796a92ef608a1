import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { ToolError } from '../../fault/tool.error.js';
import { newId } from '../../protocol/values.js';
import { MAX_PLAN_STEPS, MAX_PLAN_VERSIONS, planHash, STEP_STATUSES } from '../../protocol/plan.js';
import type { Plan, PlanStep } from '../../protocol/plan.js';
import { planApprovalNeeded } from '../../protocol/policy.js';
import { storableText } from '../../store/columns.repository.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { OfferFacts, RunTool, RunToolDecision, ToolContext } from '../tool.js';

const MAX_FILES = 200;

const path = z.string().min(1).max(4_096);
const createInput = z.strictObject({
  summary: z.string().trim().min(1).max(4_000).describe('What you will do and why, in short.'),
  steps: z
    .array(
      z.strictObject({
        text: z.string().trim().min(1).max(1_000).describe('One step, in one sentence.'),
        files: z.array(path).max(MAX_FILES).optional().describe('Files that this step changes.'),
      }),
    )
    .min(1)
    .max(MAX_PLAN_STEPS),
  files: z
    .array(path)
    .max(MAX_FILES)
    .default([])
    .describe(
      'Every file that you will create or edit, relative to the workspace. Exact paths, no patterns.',
    ),
  risks: z
    .array(z.string().trim().min(1).max(1_000))
    .max(20)
    .default([])
    .describe('What could go wrong, what you are not sure of.'),
});
type CreateInput = z.infer<typeof createInput>;

/** Submits the plan of a run. */
@Injectable()
export class PlanCreateTool implements RunTool<CreateInput> {
  readonly name = 'plan_create';
  readonly effectClass = 'META';
  readonly input = createInput;
  readonly description = `Submits your plan, at most ${MAX_PLAN_STEPS} steps. Look at the workspace first, then plan, and call this before you change anything. Name every file that you will create or edit: the approved plan allows just these; others are asked for one by one. Deletions and protected files are always asked for. A person may review the plan; if it comes back with feedback, submit a better version (at most ${MAX_PLAN_VERSIONS}).`;

  title({ steps }: CreateInput): string {
    return `plan of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}`;
  }

  refusal({ permissionMode, phase }: OfferFacts): string | undefined {
    if (permissionMode === 'READ_ONLY') return 'A read-only session needs no plan.';
    return phase === 'PLAN' ? undefined : 'The plan is approved already. Carry it out.';
  }

  async decide(input: CreateInput, { run, workspace }: ToolContext): Promise<RunToolDecision> {
    if (run.permissionMode === 'READ_ONLY' || run.phase !== 'PLAN') {
      throw new ToolError(
        'PLAN_ERROR',
        'There is nothing to plan now. Go on with the task; plan_step says how far you are.',
      );
    }
    const { plan } = run;
    if (plan && plan.reviewState !== 'REVISION_REQUESTED') {
      throw new ToolError(
        'PLAN_ERROR',
        'A plan is submitted already. Submit another one only after feedback.',
      );
    }
    const revision = (plan?.revision ?? 0) + 1;
    if (revision > MAX_PLAN_VERSIONS) {
      throw new ToolError(
        'PLAN_ERROR',
        `A run has at most ${MAX_PLAN_VERSIONS} versions of its plan.`,
      );
    }
    const content = contentOf(input, workspace);
    const proposed: Plan = {
      taskId: plan?.taskId ?? newId(),
      revision,
      ...content,
      canonicalHash: planHash(content),
      reviewState: planApprovalNeeded(run) ? 'AWAITING_APPROVAL' : 'APPROVED',
    };
    return { kind: 'propose-plan', plan: proposed, summary: `plan, version ${revision}` };
  }
}

function contentOf(
  { summary, steps, files, risks }: CreateInput,
  workspace: Workspace,
): Pick<Plan, 'summary' | 'steps' | 'files' | 'risks'> {
  const named = [...files, ...steps.flatMap((step) => step.files ?? [])];
  const paths = new Set(named.map((file) => plannedPath(file, workspace)));
  if (paths.size > MAX_FILES) {
    throw new ToolError(
      'PLAN_ERROR',
      `A plan names at most ${MAX_FILES} files. Plan less at once.`,
    );
  }
  return {
    summary: storableText(summary),
    steps: steps.map(({ text }, index) => ({
      id: `s${index + 1}`,
      text: storableText(text),
      status: 'PENDING',
    })),
    files: [...paths],
    risks: risks.map(storableText),
  };
}

/** The path as tools normalise it. What no plan can allow may not stand among what the plan allows. */
function plannedPath(requestedPath: string, workspace: Workspace): string {
  const normal = workspace.pathOf(requestedPath);
  if (normal === '') {
    throw new ToolError('PLAN_ERROR', 'files: the workspace itself is no file. Name each file.');
  }
  const { protection, secret } = workspace.classify(normal);
  if (protection !== 'NONE' || secret) {
    throw new ToolError(
      'PLAN_ERROR',
      `files: ${normal} is ${secret ? 'a secret' : 'a protected'} path, which no plan can allow. Leave it out of files and mention it in a step; its change is asked for by itself.`,
    );
  }
  return normal;
}

const stepInput = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        id: z.string().max(20).optional().describe('Of a step of the plan, such as s1.'),
        text: z.string().trim().min(1).max(1_000),
        status: z.enum(STEP_STATUSES),
      }),
    )
    .min(1)
    .max(MAX_PLAN_STEPS),
});
type StepInput = z.infer<typeof stepInput>;
type GivenStep = StepInput['steps'][number];

const MARKS = { PENDING: ' ', IN_PROGRESS: '>', DONE: 'x', SKIPPED: '-' } as const;

/** Says how far a run is. */
@Injectable()
export class PlanStepTool implements RunTool<StepInput> {
  readonly name = 'plan_step';
  readonly effectClass = 'META';
  readonly input = stepInput;
  readonly description = `Says how far you are, for the people who watch. Give the steps whose status has changed, with their ids; a step without an id is added to the list (at most ${MAX_PLAN_STEPS} in all). At most one step is IN_PROGRESS. It changes what is shown, never what you may do. In a read-only run it keeps your own list of steps: give the whole list each time.`;

  title({ steps }: StepInput): string {
    return `progress of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}`;
  }

  refusal({ phase }: OfferFacts): string | undefined {
    return phase === 'BUILD'
      ? undefined
      : 'There is no approved plan yet. Submit one with plan_create.';
  }

  async decide(
    { steps: reportedSteps }: StepInput,
    { run }: ToolContext,
  ): Promise<RunToolDecision> {
    const updated =
      run.permissionMode === 'READ_ONLY'
        ? listed(run.plan, reportedSteps)
        : progressed(run.plan, reportedSteps);
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
function listed(plan: Plan | null, reportedSteps: readonly GivenStep[]): Plan {
  const steps = reportedSteps.map(({ text, status }, index) => ({
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
function progressed(plan: Plan | null, reportedSteps: readonly GivenStep[]): Plan {
  if (plan?.reviewState !== 'APPROVED') {
    throw new ToolError(
      'PLAN_ERROR',
      'There is no approved plan yet. Submit one with plan_create.',
    );
  }
  const steps = reportedSteps.reduce(withStep, plan.steps);
  if (steps.length > MAX_PLAN_STEPS) {
    throw new ToolError(
      'PLAN_ERROR',
      `A plan has at most ${MAX_PLAN_STEPS} steps. Name the steps that there are by their ids instead of adding some.`,
    );
  }
  return { ...plan, steps };
}

function withStep(
  steps: readonly PlanStep[],
  { id, text, status }: GivenStep,
): readonly PlanStep[] {
  const storable = storableText(text);
  const existingStep = steps.find((step) =>
    id === undefined ? step.text === storable : step.id === id,
  );
  if (existingStep)
    return steps.map((step) => (step === existingStep ? { ...step, status } : step));
  if (id !== undefined) {
    throw new ToolError(
      'PLAN_ERROR',
      `There is no step ${id}. The steps are ${steps.map((step) => step.id).join(', ')}; leave the id out to add one.`,
    );
  }
  return [...steps, { id: `s${steps.length + 1}`, text: storable, status, added: true }];
}

const askInput = z.strictObject({
  question: z.string().trim().min(1).max(4_000),
  options: z
    .array(z.string().trim().min(1).max(500))
    .max(6)
    .default([])
    .describe('Answers to choose from; the user may answer otherwise.'),
});
type AskInput = z.infer<typeof askInput>;

/** Asks the user, and lets the run wait for the answer. */
@Injectable()
export class AskUserTool implements RunTool<AskInput> {
  readonly name = 'ask_user';
  readonly effectClass = 'META';
  readonly input = askInput;
  readonly description =
    'Asks the user one question and waits for the answer, which may take hours. Ask only what neither the workspace nor the task can tell and what would make the work useless if you guessed wrong.';

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  title({ question }: AskInput): string {
    return `ask: ${question.split('\n', 1)[0] ?? ''}`;
  }

  refusal({ approvalPolicy, mayAsk }: OfferFacts): string | undefined {
    if (approvalPolicy === 'NEVER') return 'No one is asked in this session. Decide yourself.';
    return mayAsk ? undefined : 'Questions are turned off here.';
  }

  async decide({ question, options }: AskInput): Promise<RunToolDecision> {
    if (!this.config.HARNESS_ASK_USER) {
      throw new ToolError(
        'TOOL_NOT_OFFERED',
        'Questions are turned off here. Decide yourself, and say in your answer what you assumed.',
      );
    }
    return {
      kind: 'ask',
      question: { text: storableText(question), options: options.map(storableText) },
    };
  }
}
