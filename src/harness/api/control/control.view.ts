import { ApiProperty } from '@nestjs/swagger';
import { flag, nullable, object, someOf, text, View } from '../../../platform/http/index.js';
import { RunLimitsView } from '../run/run.view.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { TOOL_NAMES } from '../../tool/tools.js';

export class ShellCapabilityView extends View({
  available: flag(),
  reason: nullable(text({ description: 'Why not' })),
}) {}

export class HarnessLimitsView extends RunLimitsView {
  @ApiProperty({ type: 'integer', description: 'Runs that may wait for a free place' })
  maxQueuedRuns: number;

  @ApiProperty({ type: 'integer', description: 'Characters of a requirement or an input' })
  maxRequirementCharacters: number;

  @ApiProperty({ type: 'integer' })
  maxImages: number;

  @ApiProperty({ type: 'integer', description: 'Of all images of a run, decoded' })
  maxImageBytes: number;

  @ApiProperty({ type: 'integer', description: 'Inputs that a run has not taken in' })
  maxPendingInputs: number;

  @ApiProperty({ type: 'integer', description: 'Of those inputs together' })
  maxPendingInputBytes: number;
}

/** What the harness of this server can do. */
export class CapabilitiesView extends View({
  shell: object(ShellCapabilityView),
  limits: object(HarnessLimitsView),
  permissionModes: someOf(PERMISSION_MODES),
  approvalPolicies: someOf(APPROVAL_POLICIES),
  writesEnabled: flag({ description: 'False while an administrator has stopped writes' }),
  tools: someOf(TOOL_NAMES, { description: 'Names of the tools of runs' }),
}) {}
