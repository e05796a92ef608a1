import { ApiProperty } from '@nestjs/swagger';
import { RunLimitsView } from '../run/run.parts.view.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { TOOL_NAMES } from '../../tool/tools.js';

export class ShellCapabilityView {
  @ApiProperty()
  available: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Why not' })
  reason: string | null;
}

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
export class CapabilitiesView {
  @ApiProperty({ type: ShellCapabilityView })
  shell: ShellCapabilityView;

  @ApiProperty({ type: HarnessLimitsView })
  limits: HarnessLimitsView;

  @ApiProperty({ enum: PERMISSION_MODES, isArray: true })
  permissionModes: readonly string[];

  @ApiProperty({ enum: APPROVAL_POLICIES, isArray: true })
  approvalPolicies: readonly string[];

  @ApiProperty({ description: 'False while an administrator has stopped writes' })
  writesEnabled: boolean;

  @ApiProperty({ enum: TOOL_NAMES, isArray: true, description: 'Names of the tools of runs' })
  tools: readonly string[];
}
