import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { ToolError } from '../protocol/tool-call.js';
import { newId, sha256 } from '../protocol/values.js';
import {
  MAX_PLAN_STEPS,
  MAX_PLAN_VERSIONS,
  planHash,
  STEP_STATUSES,
  planApprovalNeeded,
} from '../protocol/policy.js';
import type { Plan, PlanStep, PolicySubject } from '../protocol/policy.js';
import { storableText } from '../../platform/database/index.js';
import type { Workspace } from '../workspace/workspace.js';
import type {
  OfferFacts,
  RunTool,
  RunToolDecision,
  ToolContext,
  ReadTool,
  ToolOutcome,
} from './tool.js';
import { DomainError, NotFoundError } from '../../platform/error/index.js';
import {
  activateSkillInput,
  readSkillResource,
  resourcePart,
  skillResourceInput,
  unknownSkill,
} from '../../skill/index.js';
import type { ActivateSkillInput, SkillInfo, SkillResourceInput } from '../../skill/index.js';
import { BUILT_IN, SKILL_TOOL, SkillRepository } from '../store/message.repository.js';
import type { RunSkills } from '../store/message.repository.js';
import { SHOWN_BYTES } from './tool.js';

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
      reviewState: planApprovalNeeded(run, content.files.length) ? 'AWAITING_APPROVAL' : 'APPROVED',
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

/** Gives the model the text of a skill. */
@Injectable()
export class ActivateSkillTool implements ReadTool<ActivateSkillInput> {
  readonly name = SKILL_TOOL;
  readonly effectClass = 'READ';
  readonly refusal = withoutSkills;
  readonly input = activateSkillInput;
  readonly description =
    'Gives you the instructions of a skill. Call it as soon as the task matches the description of a skill, before you begin, and then follow what it says. Activate a skill once: its text stays with you. A skill is advice on how to work; it allows nothing that you may not do without it.';

  constructor(private readonly skills: SkillRepository) {}

  title({ name }: ActivateSkillInput): string {
    return `activate the skill ${name}`;
  }

  async subject(): Promise<PolicySubject> {
    return { kind: 'read', secret: false };
  }

  /**
   * The exact body of SKILL.md, whatever its length. A second time a short answer: however much of a run is compacted,
   * ContextBuilder keeps the bodies of active skills.
   */
  async run({ name }: ActivateSkillInput, context: ToolContext): Promise<ToolOutcome> {
    const { skills, run, toolCallId } = context;
    const skill = skills.list.find((one) => one.name === name);
    const body = skills.body(name);
    if (!skill || body === undefined) throw unknownTo(name, skills);
    if (await this.skills.isActive(run, name, toolCallId)) {
      return {
        content: `The skill ${name} is already active: its text stands above. Go on with it.`,
        summary: `${name} was already active`,
      };
    }
    const { source, sha256: sha } = skill;
    return {
      content: body,
      summary: `activated ${name} (${source})`,
      events: [{ type: 'skill.activated', data: { name, source, sha }, subject: { toolCallId } }],
    };
  }
}

/** Reads a file that belongs to a skill. */
@Injectable()
export class ReadSkillResourceTool implements ReadTool<SkillResourceInput> {
  readonly name = 'read_skill_resource';
  readonly effectClass = 'READ';
  readonly refusal = withoutSkills;
  readonly input = skillResourceInput;
  readonly description =
    'Reads a text file that belongs to a skill, such as a reference, a template or a script that its instructions name. At most 1 MiB of UTF-8 text; an answer shows up to 46 KiB and says how to go on. Use read_file for files of the workspace that belong to no skill.';

  title({ name, path }: SkillResourceInput): string {
    return `read ${path} of the skill ${name}`;
  }

  /** A file that holds secrets is refused and never asked for: read_file is the way to it. */
  async subject({ name, path }: SkillResourceInput, context: ToolContext): Promise<PolicySubject> {
    this.allowed(name, path, context);
    return { kind: 'read', secret: false };
  }

  async run(
    { name, path, offset = 0 }: SkillResourceInput,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const skill = this.allowed(name, path, context);
    const text = await readSkillResource(skill, path, context.signal).catch((error: unknown) => {
      throw error instanceof DomainError ? refused(error) : error;
    });
    const bytes = Buffer.byteLength(text);
    const part = partOf(text, path, offset);
    const event = {
      type: 'skill.resource_read',
      data: { name, source: skill.source, sha: sha256(text), path, bytes },
      subject: { toolCallId: context.toolCallId },
    } as const;
    return {
      content: part.content,
      summary: `read ${path} of ${name}, ${bytes} bytes`,
      truncated: part.isCut,
      events: [event],
    };
  }

  private allowed(name: string, path: string, { skills, workspace }: ToolContext): SkillInfo {
    const skill = skills.info(name);
    if (!skill) throw unknownTo(name, skills);
    if (skill.source !== BUILT_IN && workspace.classify(`${skill.path}/${path}`).secret) {
      throw new ToolError(
        'SECRET_PATH',
        `${path.slice(0, 100)} looks like a file with secrets and is not read as part of a skill. Use read_file if the task needs it, which asks the user.`,
      );
    }
    return skill;
  }
}

function refused(error: DomainError): ToolError {
  const code = error instanceof NotFoundError ? 'NOT_FOUND' : 'SKILL_ERROR';
  return new ToolError(code, error.message);
}

function partOf(text: string, path: string, offset: number): ReturnType<typeof resourcePart> {
  try {
    return resourcePart(text, { path, offset, bytes: SHOWN_BYTES });
  } catch (error) {
    throw error instanceof DomainError ? new ToolError('INVALID_ARGUMENTS', error.message) : error;
  }
}

function withoutSkills({ hasSkills }: OfferFacts): string | undefined {
  return hasSkills ? undefined : 'This workspace has no skills.';
}

/** Names the skills that there are. */
function unknownTo(name: string, skills: RunSkills): ToolError {
  const names = skills.list.map((skill) => skill.name);
  return new ToolError('SKILL_ERROR', unknownSkill(name, names, 'This run has none.'));
}
