import {
  failureFields,
  integer,
  list,
  nullable,
  optional,
  text,
  uuid,
  View,
} from '../../platform/http/index.js';
import { UndoConflictView } from './change/change.view.js';

/** `data` of a failure of the coding harness. */
export class HarnessFailureData extends View({
  ...failureFields,
  errorCode: text({
    example: 'RUN_ACTIVE',
    description: 'A stable word (docs/HARNESS.md, Errors)',
  }),
  runId: optional(uuid()),
  status: optional(nullable(text({ example: 'COMPLETED', description: 'Of the run' }))),
  permissionMode: optional(text({ example: 'READ_ONLY' })),
  approvalId: optional(uuid()),
  decision: optional(nullable(text({ example: 'APPROVE' }))),
  argumentsSha256: optional(text()),
  expectedRevision: optional(integer({ description: 'Of the plan or the approval' })),
  taskId: optional(text({ description: 'Of the plan' })),
  canonicalHash: optional(text({ description: 'Of the plan' })),
  reviewState: optional(nullable(text({ description: 'Of the plan; null: there is none' }))),
  toolCallId: optional(text()),
  state: optional(text({ description: 'Of the approval or the tool call' })),
  resolution: optional(nullable(text({ description: 'Of the tool call' }))),
  conflicts: optional(list(UndoConflictView, { description: 'Why a file cannot be undone' })),
}) {}
