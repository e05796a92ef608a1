import { integer, oneOf, text, View } from '../../../platform/http/index.js';
import type { HarnessGrant } from '../../store/grant.entity.js';

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
  const { id, sessionId, kind, subject, approvalId, grantedBy, createTime } = grant;
  return {
    grantId: id,
    sessionId,
    kind,
    subject,
    approvalId,
    grantedBy,
    createdAt: createTime.getTime(),
  };
}
