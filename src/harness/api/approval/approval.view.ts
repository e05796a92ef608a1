import { ApiProperty } from '@nestjs/swagger';
import type { ApprovalRow } from '../../store/approval.repository.js';
import { APPROVAL_STATES, availableDecisions, DECISIONS } from '../../protocol/approval.js';

/** A tool call that waits for, or got, the consent of a person, with everything that a decision needs. */
export class ApprovalView {
  @ApiProperty({ enum: ['TOOL'] })
  kind: 'TOOL';

  @ApiProperty({ format: 'uuid' })
  approvalId: string;

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ example: 'edit_file' })
  toolName: string;

  @ApiProperty({ example: 'edit src/add.js', description: 'One line' })
  summary: string;

  @ApiProperty({ description: 'The arguments, as the model wrote them' })
  argumentsJson: string;

  @ApiProperty({ description: 'SHA-256 of the bytes of argumentsJson; a decision names it' })
  argumentsSha256: string;

  @ApiProperty({ type: 'integer', example: 1, description: 'A decision names it' })
  expectedRevision: number;

  @ApiProperty({ enum: APPROVAL_STATES })
  state: string;

  @ApiProperty({ enum: DECISIONS, isArray: true, description: 'What may be decided' })
  available: readonly string[];

  @ApiProperty({ type: [String], description: 'What the approver should know' })
  notes: readonly string[];

  @ApiProperty({ type: String, nullable: true, enum: DECISIONS })
  decision: string | null;

  @ApiProperty({ type: String, nullable: true })
  note: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Id of the user who decided' })
  decidedBy: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch' })
  decidedAt: number | null;

  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch' })
  expiresAt: number;

  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch' })
  createdAt: number;
}

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
