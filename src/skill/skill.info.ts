/** A folder that is scanned for skills. */
export interface SkillRoot {
  /** The displayed source of the skills: `built-in`, `.agents/skills`. */
  readonly source: string;
  /** A trusted folder. Links on the way to it are followed, links below it never. */
  readonly base: string;
  /** The folder of the skills below the base, with `/` between names; default: the base. */
  readonly folder?: string;
}

/** A skill without its text, which readSkill and readSkillResource read on use. */
export interface SkillInfo {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly base: string;
  /** The skill's folder below the base, with `/` between names. */
  readonly path: string;
  /** Problems that do not prevent the use of the skill. */
  readonly warnings: readonly string[];
}

/** What a scan left out, and how to correct it. The path is relative to the root's base. */
export interface SkillProblem {
  readonly path: string;
  readonly reason: string;
}

export interface SkillScan {
  /** In the order of the scan; each name once. */
  readonly skills: readonly SkillInfo[];
  readonly skipped: readonly SkillProblem[];
}

/** The content of a SKILL.md. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  /** The text after the frontmatter, unchanged. */
  readonly body: string;
  readonly warnings: readonly string[];
}
