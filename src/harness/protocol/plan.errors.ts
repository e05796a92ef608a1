import { ConflictError } from '../../platform/error/index.js';
import { PLAN_VERSIONS } from './plan.js';
import type { Plan } from './plan.js';

/** There is no plan, or nobody waits for its review any more. */
export class PlanNotAwaitingError extends ConflictError {
  constructor(plan: Plan | null) {
    super('No plan of this run waits for a review, so nothing was changed. Load the run anew.', {
      data: { errorCode: 'PLAN_NOT_AWAITING', reviewState: plan?.reviewState ?? null },
    });
  }
}

/** The decision was made about another version. */
export class PlanStaleError extends ConflictError {
  constructor({ taskId, revision, canonicalHash }: Plan) {
    super(
      'taskId, expectedRevision or expectedHash is not that of the plan, so nothing was decided. Load the plan anew and look at it again.',
      { data: { errorCode: 'PLAN_STALE', taskId, expectedRevision: revision, canonicalHash } },
    );
  }
}

export class PlanVersionsError extends ConflictError {
  constructor() {
    super(
      `This is version ${PLAN_VERSIONS}, the last one that a run may have. Approve it, or cancel the run and start a new one.`,
      { data: { errorCode: 'PLAN_LIMIT_REACHED' } },
    );
  }
}
