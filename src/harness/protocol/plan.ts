export const STEP_STATUSES = ['PENDING', 'IN_PROGRESS', 'DONE', 'SKIPPED'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export interface PlanStep {
  /** Unique in the plan. */
  readonly id: string;
  readonly text: string;
  readonly status: StepStatus;
  /** Put in by the model while it carried out the approved plan: nobody has approved it, and it allows nothing. */
  readonly added?: true;
}

export const REVIEW_STATES = [
  'DRAFT',
  'AWAITING_APPROVAL',
  'REVISION_REQUESTED',
  'APPROVED',
] as const;
/** DRAFT is the list of a READ_ONLY run, which nobody reviews and which allows nothing. */
export type ReviewState = (typeof REVIEW_STATES)[number];

/** Versions that a model may submit in one run. */
export const PLAN_VERSIONS = 5;
/** Steps of a plan at most. */
export const PLAN_STEPS = 30;

/** The plan of a run as its row holds it. The content is what a person approves; the hash binds the approval to it. */
export interface Plan {
  /** One per run: UUID. */
  readonly taskId: string;
  /** Grows with every version that the model submits. */
  readonly revision: number;
  readonly summary: string;
  readonly steps: readonly PlanStep[];
  /** Workspace paths, as tools normalise them, that the approved plan allows to create and edit. */
  readonly files: readonly string[];
  readonly risks: readonly string[];
  /** SHA-256, lower-case hex, of the canonical JSON of summary, step texts, files and risks. */
  readonly canonicalHash: string;
  readonly reviewState: ReviewState;
}

export interface PlanReceipt {
  readonly decision: 'APPROVED' | 'REVISION_REQUESTED';
  /** The idempotencyKey of the approval, or the feedbackId of the request. */
  readonly key: string;
  readonly revision: number;
  readonly hash: string;
  /** SHA-256 of what was said, of a request alone. */
  readonly contentSha256?: string;
}
