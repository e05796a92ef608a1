import {
  flag,
  integer,
  list,
  localized,
  nullable,
  oneOf,
  someOf,
  text,
  texts,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { APPROVAL_STATES, availableDecisions, DECISIONS } from '../../protocol/approval.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import type { HarnessGrant } from '../../store/harness.entity.js';

/** A file that a call would change. */
export class PreviewFileView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(['CREATE', 'UPDATE', 'DELETE']),
  additions: nullable(integer({ description: 'Lines; null for what is no text' })),
  deletions: nullable(integer({ description: 'Lines; null for what is no text' })),
  sizeBefore: nullable(integer({ description: 'Bytes; null where there is no file' })),
  sizeAfter: nullable(integer({ description: 'Bytes; null where there is no file' })),
}) {}

const previewFields = {
  modelDescription: nullable(
    text({ description: "The model's own words about the call: not checked, nothing to rely on" }),
  ),
  command: nullable(text({ description: 'The whole command' })),
  files: list(PreviewFileView, { description: 'The files that it would change' }),
  diff: nullable(text({ description: 'What it would change in them: unified, at most 64 KiB' })),
  diffTruncated: flag({ description: 'The diff is cut; argumentsJson holds all of the change' }),
};

/** A tool call that waits for, or got, the consent of a person, with everything that a decision needs. */
export class ApprovalView extends View({
  kind: oneOf<'TOOL'>(['TOOL']),
  approvalId: uuid(),
  sessionId: uuid(),
  runId: uuid(),
  toolCallId: uuid(),
  toolName: text({ example: 'edit_file' }),
  summary: text({
    example: 'run npm test',
    description: 'One line, made by the server from the arguments',
  }),
  ...previewFields,
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
  return ApprovalView.of({
    ...row,
    ...row.preview,
    notes: row.notes.map((note) => localized(note)),
    files: [...row.preview.files],
    kind: 'TOOL',
    approvalId: row.id,
    expectedRevision: row.revision,
    available: row.state === 'PENDING' ? availableDecisions(row.grantable) : [],
    createdAt: row.createTime,
  });
}

/** A consent that holds for the rest of the session. */
export class GrantView extends View({
  grantId: text({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d70' }),
  sessionId: text({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d71' }),
  kind: oneOf(['PATH', 'COMMAND']),
  subject: text({
    example: 'src/add.js',
    description: 'The path that may be written, or the exact command that may be run',
  }),
  approvalId: text({ description: 'The approval that granted it' }),
  grantedBy: integer({ example: 1, description: 'Id of the user who granted it' }),
  createdAt: integer({ description: 'Milliseconds since the epoch' }),
}) {}

export function toGrantView(grant: HarnessGrant): GrantView {
  return GrantView.of({ ...grant, grantId: grant.id, createdAt: grant.createTime });
}
