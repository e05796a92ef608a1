import { list, text, texts, View } from '../../../platform/http/index.js';
import type { SkillProblem } from '../../../skill/index.js';
import type { FoundSkill, FoundSkills } from '../../context/skills.js';

export class HarnessSkillView extends View({
  name: text({ example: 'verification' }),
  description: text({ description: 'What the model chooses it by' }),
  source: text({
    example: '.agents/skills',
    description: 'built-in, or a folder of the workspace',
  }),
  path: text({ example: '.agents/skills/verification', description: 'Its folder' }),
  sha256: text({ description: 'Of the text of SKILL.md below the frontmatter' }),
  warnings: texts({ description: 'Problems that its author should fix' }),
}) {}

export class SkippedSkillView extends View({
  path: text({ example: '.agents/skills/broken/SKILL.md' }),
  reason: text({ description: 'Why it was left out, and what to do about it' }),
}) {}

export class HarnessSkillsView extends View({
  skills: list(HarnessSkillView, { description: 'In the order of discovery' }),
  skipped: list(SkippedSkillView),
}) {}

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
