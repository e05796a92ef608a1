import { ApiProperty } from '@nestjs/swagger';
import type { HarnessGrant } from '../../store/grant.entity.js';

/** A consent that holds for the rest of the session. */
export class GrantView {
  @ApiProperty({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d70' })
  grantId: string;

  @ApiProperty({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d71' })
  sessionId: string;

  @ApiProperty({ enum: ['PATH', 'COMMAND'] })
  kind: string;

  @ApiProperty({
    example: 'src/add.js',
    description: 'The path that may be written, or the exact command that may be run',
  })
  subject: string;

  @ApiProperty({ description: 'The approval that granted it' })
  approvalId: string;

  @ApiProperty({ type: 'integer', example: 1, description: 'Id of the user who granted it' })
  grantedBy: number;

  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch' })
  createdAt: number;
}

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
