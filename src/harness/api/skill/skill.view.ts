import { ApiProperty } from '@nestjs/swagger';
import type { SkillProblem } from '../../../skill/index.js';
import type { FoundSkill, FoundSkills } from '../../context/skills.js';

export class HarnessSkillView {
  @ApiProperty({ example: 'verification' })
  name: string;

  @ApiProperty({ description: 'What the model chooses it by' })
  description: string;

  @ApiProperty({ example: '.agents/skills', description: 'built-in, or a folder of the workspace' })
  source: string;

  @ApiProperty({ example: '.agents/skills/verification', description: 'Its folder' })
  path: string;

  @ApiProperty({ description: 'Of the text of SKILL.md below the frontmatter' })
  sha256: string;

  @ApiProperty({ type: [String], description: 'What its author should mend' })
  warnings: readonly string[];
}

export class SkippedSkillView {
  @ApiProperty({ example: '.agents/skills/broken/SKILL.md' })
  path: string;

  @ApiProperty({ description: 'Why it was left out, and what to do about it' })
  reason: string;
}

export class HarnessSkillsView {
  @ApiProperty({ type: [HarnessSkillView], description: 'In the order of discovery' })
  skills: HarnessSkillView[];

  @ApiProperty({ type: [SkippedSkillView] })
  skipped: readonly SkippedSkillView[];
}

export function toSkillsView({ skills, skipped }: FoundSkills): HarnessSkillsView {
  return { skills: skills.map(skillView), skipped: skipped.map(skippedView) };
}

function skillView(skill: FoundSkill): HarnessSkillView {
  const { name, description, source, path, sha256, warnings } = skill;
  return { name, description, source, path, sha256, warnings };
}

function skippedView({ path, reason }: SkillProblem): SkippedSkillView {
  return { path, reason };
}
