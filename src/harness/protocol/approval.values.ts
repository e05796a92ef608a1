export const DECISIONS = ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'] as const;
/** APPROVE_SESSION also grants the same path, or the same exact command, for the rest of the session. */
export type Decision = (typeof DECISIONS)[number];

/** What a person may answer. */
export function availableDecisions(grantable: boolean): readonly Decision[] {
  return DECISIONS.filter((decision) => grantable || decision !== 'APPROVE_SESSION');
}

export const APPROVAL_STATES = ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

export type GrantKind = 'PATH' | 'COMMAND';

/** What a person may grant: a path of the workspace as tools normalise it, or a command, character for character. */
export interface GrantSubject {
  readonly kind: GrantKind;
  readonly subject: string;
}
