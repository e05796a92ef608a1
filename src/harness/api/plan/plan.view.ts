import {
  flag,
  integer,
  list,
  oneOf,
  text,
  texts,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { planMarkdown, REVIEW_STATES, STEP_STATUSES } from '../../protocol/plan.js';
import type { Plan } from '../../protocol/plan.js';

export class PlanStepView extends View({
  id: text({ example: 's1' }),
  text: text(),
  status: oneOf(STEP_STATUSES),
  added: flag({ description: 'Put in after the approval; it allows nothing' }),
}) {}

/** The plan of a run with its progress, and everything that a decision about it needs. */
export class PlanView extends View({
  taskId: uuid(),
  revision: integer({ example: 1, description: 'Of the plan: its version' }),
  expectedRevision: integer({ example: 1, description: 'The same; a decision names it' }),
  canonicalHash: text({ description: 'A decision names it' }),
  reviewState: oneOf(REVIEW_STATES),
  summary: text(),
  steps: list(PlanStepView),
  files: texts({ description: 'Paths that the plan allows to create and edit' }),
  risks: texts(),
  planMarkdown: text({
    description: 'The plan as a person reads it; all text of the model is escaped',
  }),
}) {}

export function toPlanView(plan: Plan): PlanView {
  return PlanView.of({
    ...plan,
    expectedRevision: plan.revision,
    steps: stepViews(plan),
    planMarkdown: planMarkdown(plan),
  });
}

export function stepViews({ steps }: Plan): PlanStepView[] {
  return steps.map(({ id, text, status, added = false }) => ({ id, text, status, added }));
}
