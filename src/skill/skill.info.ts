/** Where skills are looked for. */
export interface SkillRoot {
  /** What readers are told the skills come from: `built-in`, `.agents/skills`. */
  readonly source: string;
  /** A folder that the operator chose. Links on the way to it are followed, links below it never. */
  readonly base: string;
  /** The folder below the base that holds the skills, with `/` between names; the base itself when absent. */
  readonly folder?: string;
}

/** A skill as a reader chooses it. Its text is read when it is used: readSkill, readSkillResource. */
export interface SkillInfo {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly base: string;
  /** The skill's folder below the base, with `/` between names. */
  readonly path: string;
  /** What its author should mend, although the skill can be used. */
  readonly warnings: readonly string[];
}

/** What was left out of a scan, and what its author can do about it. The path is one below the root's base. */
export interface SkillProblem {
  readonly path: string;
  readonly reason: string;
}

export interface SkillScan {
  /** In the order in which they were found; each name once. */
  readonly skills: readonly SkillInfo[];
  readonly skipped: readonly SkillProblem[];
}

/** The content of a SKILL.md. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  /** What follows the frontmatter, unchanged. */
  readonly body: string;
  readonly warnings: readonly string[];
}
