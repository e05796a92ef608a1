import { ApiProperty } from '@nestjs/swagger';
import { planMarkdown, REVIEW_STATES, STEP_STATUSES } from '../../protocol/plan.js';
import type { Plan } from '../../protocol/plan.js';

export class PlanStepView {
  @ApiProperty({ example: 's1' })
  id: string;

  @ApiProperty()
  text: string;

  @ApiProperty({ enum: STEP_STATUSES })
  status: string;

  @ApiProperty({ description: 'Put in after the approval; it allows nothing' })
  added: boolean;
}

/** The plan of a run with its progress, and everything that a decision about it needs. */
export class PlanView {
  @ApiProperty({ format: 'uuid' })
  taskId: string;

  @ApiProperty({ type: 'integer', example: 1, description: 'Of the plan: its version' })
  revision: number;

  @ApiProperty({ type: 'integer', example: 1, description: 'The same; a decision names it' })
  expectedRevision: number;

  @ApiProperty({ description: 'A decision names it' })
  canonicalHash: string;

  @ApiProperty({ enum: REVIEW_STATES })
  reviewState: string;

  @ApiProperty()
  summary: string;

  @ApiProperty({ type: [PlanStepView] })
  steps: readonly PlanStepView[];

  @ApiProperty({ type: [String], description: 'Paths that the plan allows to create and edit' })
  files: readonly string[];

  @ApiProperty({ type: [String] })
  risks: readonly string[];

  @ApiProperty({ description: 'The plan as a person reads it; all text of the model is escaped' })
  planMarkdown: string;
}

export function toPlanView(plan: Plan): PlanView {
  const { taskId, revision, canonicalHash, reviewState, summary, files, risks } = plan;
  return {
    taskId,
    revision,
    expectedRevision: revision,
    canonicalHash,
    reviewState,
    summary,
    steps: plan.steps.map(({ id, text, status, added = false }) => ({ id, text, status, added })),
    files,
    risks,
    planMarkdown: planMarkdown(plan),
  };
}
