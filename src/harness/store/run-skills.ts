import type { SkillInfo } from '../../skill/index.js';
import type { HarnessSkill } from './harness.entity.js';

/** The source of the skills that come with the service. */
export const BUILT_IN = 'built-in';

/** A stored skill as far as a run needs it. */
export type StoredSkill = Omit<HarnessSkill, 'runId' | 'position' | 'tenantId'>;

/** What a model sees of a skill before it uses it. */
export type SkillSummary = Pick<StoredSkill, 'name' | 'description' | 'source' | 'sha256'>;

/** The skills of one run as they were when it began: a file that changes meanwhile changes nothing here. */
export class RunSkills {
  private readonly byName: ReadonlyMap<string, StoredSkill>;

  /** `list`: in the order in which they were found; each name once. */
  constructor(readonly list: readonly StoredSkill[]) {
    this.byName = new Map(list.map((skill) => [skill.name, skill]));
  }

  /** What follows the frontmatter of the skill's SKILL.md, unchanged. Undefined when there is no such skill. */
  body(name: string): string | undefined {
    return this.byName.get(name)?.body;
  }

  /** Where the skill's files are, for readSkillResource. Undefined when there is no such skill. */
  info(name: string): SkillInfo | undefined {
    const skill = this.byName.get(name);
    if (!skill) return undefined;
    const { description, source, base, path } = skill;
    return { name, description, source, base, path, warnings: [] };
  }
}
