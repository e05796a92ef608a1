import { Injectable } from '@nestjs/common';
import type { EventDraft } from '../store/event.catalogue.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RunSkills } from '../store/run-skills.js';
import { relocated, SkillDiscovery } from './skill.discovery.js';
import { SkillRepository } from '../store/skill.repository.js';

type RunKey = Pick<HarnessRun, 'tenantId' | 'id'>;

export interface LoadedSkills {
  readonly skills: RunSkills;
  /** skills.loaded, which the caller stores: until then the skills count as not loaded. */
  readonly event: EventDraft;
}

/**
 * The skills of runs. A run keeps those that it found when it began, with their texts: whoever takes it up later gives
 * the model the same ones, whatever has become of the files. A new run looks again.
 */
@Injectable()
export class HarnessSkills {
  constructor(
    private readonly discovery: SkillDiscovery,
    private readonly skills: SkillRepository,
  ) {}

  /**
   * Looks for skills and keeps them for the run; what an earlier call has kept stays. It reads many files: call it
   * outside of transactions.
   */
  async load(run: RunKey, workspaceRoot: string, signal: AbortSignal): Promise<LoadedSkills> {
    const found = await this.discovery.find(workspaceRoot, signal);
    await this.skills.keep(run, found.skills);
    const kept = await this.skills.of(run);
    const skills = new RunSkills(kept.skills.map(relocated));
    return {
      skills,
      event: {
        type: 'skills.loaded',
        data: {
          skills: skills.list.map(({ name, description, source }) => ({
            name,
            description,
            source,
          })),
          skipped: found.skipped,
        },
      },
    };
  }

  /** The skills that the run has kept; undefined when it has none yet, or the event of `load` was never stored. */
  async of(run: RunKey): Promise<RunSkills | undefined> {
    const { skills, isTold } = await this.skills.of(run);
    return isTold ? new RunSkills(skills.map(relocated)) : undefined;
  }
}
