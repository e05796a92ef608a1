import { ConflictError, InvalidInputError } from '../../platform/error/index.js';
import type { ApprovalRow } from './approval.repository.js';

/** First answer wins: somebody, or the end of its time, was faster. */
export class ApprovalResolvedError extends ConflictError {
  constructor({ id, state, decision }: Pick<ApprovalRow, 'id' | 'state' | 'decision'>) {
    super(`This approval is ${state} already, so nothing was changed. Load the run anew.`, {
      data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', approvalId: id, state, decision },
    });
  }
}

/** The decision was made about something else than what is asked now. */
export class ApprovalStaleError extends ConflictError {
  constructor({ id, revision, argumentsSha256 }: ApprovalRow) {
    super(
      'expectedRevision or argumentsSha256 is not that of the approval, so nothing was decided. Load the approval anew and look at its arguments again.',
      {
        data: {
          errorCode: 'APPROVAL_STALE',
          approvalId: id,
          expectedRevision: revision,
          argumentsSha256,
        },
      },
    );
  }
}

export class NotGrantableError extends InvalidInputError {
  constructor(approvalId: string) {
    super(
      'This must be asked for each time, so it cannot be approved for the session. Decide APPROVE or DENY.',
      { data: { errorCode: 'APPROVAL_NOT_GRANTABLE', approvalId } },
    );
  }
}
