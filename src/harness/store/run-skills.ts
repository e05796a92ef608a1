import type { SkillInfo } from '../../skill/index.js';
import type { HarnessSkill } from './harness.entity.js';

/** The source of the skills that come with the service. */
export const BUILT_IN = 'built-in';

/** What a model sees of a skill before it uses it. */
export interface SkillSummary {
  readonly name: string;
  readonly description: string;
  /** `built-in`, or the folder of the workspace that it comes from: `.agents/skills`. */
  readonly source: string;
  /** SHA-256 of the body, lower-case hex. */
  readonly sha256: string;
}

/** A stored skill as far as a run needs it. */
export type StoredSkill = Pick<
  HarnessSkill,
  'name' | 'description' | 'source' | 'sha256' | 'base' | 'path' | 'body'
>;

/** The skills of one run as they were when it began: a file that changes meanwhile changes nothing here. */
export class RunSkills {
  /** A run without skills. */
  static readonly none = new RunSkills([]);

  /** In the order in which they were found; each name once. */
  readonly list: readonly SkillSummary[];
  private readonly byName: ReadonlyMap<string, StoredSkill>;

  constructor(stored: readonly StoredSkill[]) {
    this.list = stored.map(({ name, description, source, sha256 }) => ({
      name,
      description,
      source,
      sha256,
    }));
    this.byName = new Map(stored.map((skill) => [skill.name, skill]));
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
