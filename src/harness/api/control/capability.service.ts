import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { HarnessSwitches } from '../../store/harness.switches.js';
import { TOOL_NAMES } from '../../tool/tools.js';
import { LONGEST_REQUIREMENT } from '../run/run.dto.js';
import { MOST_IMAGE_BYTES, MOST_IMAGES } from '../run/run.images.js';
import { MOST_PENDING, MOST_PENDING_BYTES, serverBudget } from '../run/run.limits.js';
import type { CapabilitiesView } from './control.view.js';

/** What the harness of this server can do, for clients that fit themselves to it. */
@Injectable()
export class CapabilityService {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly sandbox: Sandbox,
    private readonly switches: HarnessSwitches,
  ) {}

  async get(): Promise<CapabilitiesView> {
    // Right after a start it is still being found out.
    await this.sandbox.ready();
    const { available, reason } = this.sandbox.capability;
    return {
      shell: { available, reason },
      limits: {
        ...serverBudget(this.config),
        maxQueuedRuns: this.config.HARNESS_QUEUE_SIZE,
        maxRequirementCharacters: LONGEST_REQUIREMENT,
        maxImages: MOST_IMAGES,
        maxImageBytes: MOST_IMAGE_BYTES,
        maxPendingInputs: MOST_PENDING,
        maxPendingInputBytes: MOST_PENDING_BYTES,
      },
      permissionModes: PERMISSION_MODES,
      approvalPolicies: APPROVAL_POLICIES,
      writesEnabled: await this.switches.writesEnabled(),
      tools: TOOL_NAMES.filter((name) => this.isOffered(name)),
    };
  }

  /** Stops or allows writes; ForbiddenError unless the caller is a super administrator. */
  async switchWrites(caller: Caller, enabled: boolean): Promise<CapabilitiesView> {
    await this.switches.setWrites(caller, enabled);
    return this.get();
  }

  /** A run has fewer: its mode, policy and phase decide. */
  private isOffered(name: string): boolean {
    if (name === 'shell') return this.sandbox.capability.available;
    return name !== 'ask_user' || this.config.HARNESS_ASK_USER;
  }
}
