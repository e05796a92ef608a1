import type { EventDataOf, EventDraft, PlanData } from './event.catalogue.js';
import type { Plan } from '../protocol/plan.js';
import { planMarkdown } from '../protocol/plan.js';

/** What plan.created and plan.updated carry. */
export function planData({ taskId, revision, summary, steps, files, risks }: Plan): PlanData {
  const shown = steps.map(({ id, text, status }) => ({ id, text, status }));
  return { taskId, revision, summary, steps: shown, files, risks };
}

/** What a reviewer needs: plan.awaiting_approval. */
export function awaitingData(plan: Plan): EventDataOf['plan.awaiting_approval'] {
  return {
    taskId: plan.taskId,
    planMarkdown: planMarkdown(plan),
    canonicalHash: plan.canonicalHash,
    expectedRevision: plan.revision,
    reviewState: 'AWAITING_APPROVAL',
  };
}

/**
 * The events of a plan that the model has submitted: plan.created, and plan.awaiting_approval where a person reviews it
 * or plan.approved where no review is needed.
 */
export function proposalEvents(plan: Plan): EventDraft[] {
  const { taskId, revision, canonicalHash: hash } = plan;
  return [
    { type: 'plan.created', data: planData(plan) },
    plan.reviewState === 'APPROVED'
      ? { type: 'plan.approved', data: { taskId, revision, hash } }
      : { type: 'plan.awaiting_approval', data: awaitingData(plan) },
  ];
}
