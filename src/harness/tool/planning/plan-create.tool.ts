import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { planApprovalNeeded } from '../../protocol/policy.js';
import { storableText } from '../../store/storable.js';
import { PLAN_STEPS, PLAN_VERSIONS, planHash } from '../../protocol/plan.js';
import type { Plan } from '../../protocol/plan.js';
import { newId } from '../../protocol/ids.js';
import type { Workspace } from '../../workspace/workspace.js';
import { ToolError } from '../../fault/tool.error.js';
import type { OfferFacts, RunTool, RunToolDecision, ToolContext } from '../tool.js';

const FILES = 200;

const path = z.string().min(1).max(4_096);
const input = z.strictObject({
  summary: z.string().trim().min(1).max(4_000).describe('What you will do and why, in short.'),
  steps: z
    .array(
      z.strictObject({
        text: z.string().trim().min(1).max(1_000).describe('One step, in one sentence.'),
        files: z.array(path).max(FILES).optional().describe('Files that this step changes.'),
      }),
    )
    .min(1)
    .max(PLAN_STEPS),
  files: z
    .array(path)
    .max(FILES)
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
type Input = z.infer<typeof input>;

/** Submits the plan of a run. */
@Injectable()
export class PlanCreateTool implements RunTool<Input> {
  readonly name = 'plan_create';
  readonly effectClass = 'META';
  readonly input = input;
  readonly description = `Submits your plan, at most ${PLAN_STEPS} steps. Look at the workspace first, then plan, and call this before you change anything. Name every file that you will create or edit: the approved plan allows just these; others are asked for one by one. Deletions and protected files are always asked for. A person may review the plan; if it comes back with feedback, submit a better version (at most ${PLAN_VERSIONS}).`;

  title({ steps }: Input): string {
    return `plan of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}`;
  }

  refusal({ permissionMode, phase }: OfferFacts): string | undefined {
    if (permissionMode === 'READ_ONLY') return 'A read-only session needs no plan.';
    return phase === 'PLAN' ? undefined : 'The plan is approved already. Carry it out.';
  }

  async decide(given: Input, { run, plan, workspace }: ToolContext): Promise<RunToolDecision> {
    if (run.permissionMode === 'READ_ONLY' || run.phase !== 'PLAN') {
      throw new ToolError(
        'PLAN_ERROR',
        'There is nothing to plan now. Go on with the task; plan_step says how far you are.',
      );
    }
    if (plan && plan.reviewState !== 'REVISION_REQUESTED') {
      throw new ToolError(
        'PLAN_ERROR',
        'A plan is submitted already. Submit another one only after feedback.',
      );
    }
    const revision = (plan?.revision ?? 0) + 1;
    if (revision > PLAN_VERSIONS) {
      throw new ToolError('PLAN_ERROR', `A run has at most ${PLAN_VERSIONS} versions of its plan.`);
    }
    const content = contentOf(given, workspace);
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
  { summary, steps, files, risks }: Input,
  workspace: Workspace,
): Pick<Plan, 'summary' | 'steps' | 'files' | 'risks'> {
  const named = [...files, ...steps.flatMap((step) => step.files ?? [])];
  const paths = new Set(named.map((file) => plannedPath(file, workspace)));
  if (paths.size > FILES) {
    throw new ToolError('PLAN_ERROR', `A plan names at most ${FILES} files. Plan less at once.`);
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
function plannedPath(given: string, workspace: Workspace): string {
  const normal = workspace.pathOf(given);
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
