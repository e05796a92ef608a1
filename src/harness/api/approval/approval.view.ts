import {
  integer,
  nullable,
  oneOf,
  someOf,
  text,
  texts,
  uuid,
  View,
} from '../../../platform/http/index.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import { APPROVAL_STATES, availableDecisions, DECISIONS } from '../../protocol/approval.js';

/** A tool call that waits for, or got, the consent of a person, with everything that a decision needs. */
export class ApprovalView extends View({
  kind: oneOf<'TOOL'>(['TOOL']),
  approvalId: uuid(),
  sessionId: uuid(),
  runId: uuid(),
  toolCallId: uuid(),
  toolName: text({ example: 'edit_file' }),
  summary: text({ example: 'edit src/add.js', description: 'One line' }),
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({
    description: 'SHA-256 of the bytes of argumentsJson; a decision names it',
  }),
  expectedRevision: integer({ example: 1, description: 'A decision names it' }),
  state: oneOf(APPROVAL_STATES),
  available: someOf(DECISIONS, { description: 'What may be decided' }),
  notes: texts({ description: 'What the approver should know' }),
  decision: nullable(oneOf(DECISIONS)),
  note: nullable(text()),
  decidedBy: nullable(integer({ description: 'Id of the user who decided' })),
  decidedAt: nullable(integer({ description: 'Milliseconds since the epoch' })),
  expiresAt: integer({ description: 'Milliseconds since the epoch' }),
  createdAt: integer({ description: 'Milliseconds since the epoch' }),
}) {}

export function toApprovalView(row: ApprovalRow): ApprovalView {
  return {
    kind: 'TOOL',
    approvalId: row.id,
    sessionId: row.sessionId,
    runId: row.runId,
    toolCallId: row.toolCallId,
    toolName: row.toolName,
    summary: row.summary,
    argumentsJson: row.argumentsJson,
    argumentsSha256: row.argumentsSha256,
    expectedRevision: row.revision,
    state: row.state,
    available: row.state === 'PENDING' ? availableDecisions(row.grantable) : [],
    notes: row.notes,
    decision: row.decision,
    note: row.note,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt?.getTime() ?? null,
    expiresAt: row.expiresAt.getTime(),
    createdAt: row.createTime.getTime(),
  };
}
