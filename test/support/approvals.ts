import { freshKey } from './harness.js';
import type { Harness, RunView } from './harness.js';
import { done } from './people.js';
import type { Answer, Session } from './session.js';

/** An approval as clients read it. */
export interface Approval {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly state: string;
  readonly decision: string | null;
  readonly note: string | null;
  readonly expectedRevision: number;
  readonly argumentsSha256: string;
  readonly argumentsJson: string;
  readonly expiresAt: number;
  readonly available: readonly string[];
  readonly [field: string]: unknown;
}

export interface Decided {
  /** APPROVE unless given. */
  readonly decision?: string;
  readonly by?: Session;
  /** Fields of the body, over those that fit the approval. */
  readonly [field: string]: unknown;
}

type Run = Pick<RunView, 'sessionId' | 'runId'>;

/** Those that the view of a run says it waits for, the oldest first. */
export function pendingOf({ approvals }: RunView): Approval[] {
  return Object.values(approvals as Record<string, Approval>);
}

/** The approvals of a run, the oldest first. */
export async function approvalsOf(
  harness: Harness,
  run: Run,
  by: Session = harness.session,
): Promise<Approval[]> {
  return done(await by.get<Approval[]>(harness.path(run, '/approvals'))).data;
}

/** The first approval of a run; throws when it has none. */
export async function firstApproval(
  harness: Harness,
  run: Run,
  by: Session = harness.session,
): Promise<Approval> {
  const [approval] = await approvalsOf(harness, run, by);
  if (!approval) throw new Error('The run has no approval.');
  return approval;
}

/** Decides about an approval as somebody does who has looked at it. */
export function decide(
  harness: Harness,
  run: Run,
  { approvalId, expectedRevision, argumentsSha256 }: Approval,
  { by = harness.session, ...over }: Decided = {},
): Promise<Answer<RunView>> {
  const shown = { decisionId: freshKey(), decision: 'APPROVE', expectedRevision, argumentsSha256 };
  return by.post<RunView>(harness.path(run, `/approvals/${approvalId}/resolve`), {
    ...shown,
    ...over,
  });
}
