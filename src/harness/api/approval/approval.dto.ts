import { OneOf, Text, Whole } from '../../../platform/http/index.js';
import { DECISIONS } from '../../protocol/approval.js';
import type { Decision } from '../../protocol/approval.js';

/** SHA-256 as hex digits, in any case. */
export const SHA256 = {
  pattern: /^[\da-f]{64}$/i,
  patternMessage: 'must be 64 hex digits',
} as const;

export class ResolveApprovalBody {
  @Text({ max: 256, description: 'Of this decision; the same one again is answered alike' })
  decisionId: string;

  @OneOf(DECISIONS, {
    description:
      'APPROVE_SESSION approves the same path or command for the rest of the session; DENY_AND_STOP ends the run',
  })
  decision: Decision;

  @Whole({ min: 0, description: 'expectedRevision of the approval that was shown' })
  expectedRevision: number;

  @Text({ ...SHA256, description: 'argumentsSha256 of the approval that was shown' })
  argumentsSha256: string;

  @Text({ optional: true, max: 2_048, description: 'For the model, and for the record' })
  note?: string;
}

export class InboxQuery {
  @OneOf(['PENDING'], { optional: true, description: 'What waits for a decision: the only choice' })
  state?: string;
}
