import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import {
  Answers,
  Flag,
  flag,
  Input,
  integer,
  nullable,
  object,
  oneOf,
  someOf,
  StrictFields,
  text,
  View,
} from '../../../platform/http/index.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { MEMORY_LIMIT_HOLDERS, PROCESS_LIMIT_HOLDERS } from '../../sandbox/resource-limits.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { HarnessSwitches } from '../../store/run.repository.js';
import { TOOL_NAMES } from '../../tool/tools.js';
import {
  MAX_REQUIREMENT_CHARS,
  MAX_IMAGE_BYTES,
  MAX_IMAGES,
  MAX_PENDING_INPUTS,
  MAX_PENDING_BYTES,
  RUN_QUEUE,
  runLimits,
  SERVER_BUDGET,
} from '../run/run.dto.js';

@StrictFields()
export class SwitchWritesBody extends Input({
  enabled: Flag({ description: 'False stops everything that changes files, in every tenant' }),
}) {}

export class ShellCapabilityView extends View({
  available: flag(),
  reason: nullable(text({ description: 'Why not' })),
  processLimit: nullable(
    oneOf(PROCESS_LIMIT_HOLDERS, {
      description: 'Who ends a command with too many processes; null where it is not known',
    }),
  ),
  memoryLimit: nullable(
    oneOf(MEMORY_LIMIT_HOLDERS, {
      description: 'Who ends a command with too much memory; null where it is not known',
    }),
  ),
}) {}

export class HarnessLimitsView extends View({
  ...runLimits,
  maxQueuedRuns: integer({ description: 'Runs that may wait for a free place' }),
  maxRequirementCharacters: integer({ description: 'Characters of a requirement or an input' }),
  maxImages: integer(),
  maxImageBytes: integer({ description: 'Of all images of a run, decoded' }),
  maxPendingInputs: integer({ description: 'Inputs that a run has not taken in' }),
  maxPendingInputBytes: integer({ description: 'Of those inputs together' }),
}) {}

/** Capabilities of this server's harness. */
export class CapabilitiesView extends View({
  shell: object(ShellCapabilityView),
  limits: object(HarnessLimitsView),
  permissionModes: someOf(PERMISSION_MODES),
  approvalPolicies: someOf(APPROVAL_POLICIES),
  writesEnabled: flag({ description: 'False while an administrator has stopped writes' }),
  tools: someOf(TOOL_NAMES, { description: 'Names of the tools of runs' }),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness')
@RequirePermission('coding:harness:use')
export class ControlController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly sandbox: Sandbox,
    private readonly switches: HarnessSwitches,
  ) {}

  /** Capabilities of this server's harness: its tools, limits, modes and policies. */
  @Get('capabilities')
  @Answers(CapabilitiesView)
  async capabilities(): Promise<CapabilitiesView> {
    // Right after a start the sandbox is still being probed.
    await this.sandbox.ready();
    const { available, reason, limitsBy } = this.sandbox.capability;
    const { processes = null, memory = null } = limitsBy ?? {};
    return {
      shell: { available, reason, processLimit: processes, memoryLimit: memory },
      limits: {
        ...SERVER_BUDGET,
        maxQueuedRuns: RUN_QUEUE.maxRuns,
        maxRequirementCharacters: MAX_REQUIREMENT_CHARS,
        maxImages: MAX_IMAGES,
        maxImageBytes: MAX_IMAGE_BYTES,
        maxPendingInputs: MAX_PENDING_INPUTS,
        maxPendingInputBytes: MAX_PENDING_BYTES,
      },
      permissionModes: PERMISSION_MODES,
      approvalPolicies: APPROVAL_POLICIES,
      writesEnabled: await this.switches.writesEnabled(),
      tools: TOOL_NAMES.filter((name) => this.isOffered(name)),
    };
  }

  /** Stops or allows everything that changes files, in every tenant. For super administrators only. */
  @Post('admin/writes')
  @Answers(CapabilitiesView)
  async switchWrites(
    @CurrentCaller() caller: Caller,
    @Body() { enabled }: SwitchWritesBody,
  ): Promise<CapabilitiesView> {
    await this.switches.setWrites(caller, enabled);
    return this.capabilities();
  }

  /** Whether the server offers the tool. A run has fewer: its mode, policy and phase decide. */
  private isOffered(name: string): boolean {
    if (name === 'shell') return this.sandbox.capability.available;
    return name !== 'ask_user' || this.config.HARNESS_ASK_USER;
  }
}
