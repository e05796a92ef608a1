import type { RunSkills } from '../../store/run-skills.js';
import { ToolError } from '../tool.js';

/** Tells the model which skills there are. */
export function unknownSkill(name: string, skills: RunSkills): ToolError {
  const names = skills.list.map((skill) => skill.name).join(', ');
  const known = names === '' ? 'This run has none.' : `There are: ${names}.`;
  return new ToolError('SKILL_ERROR', `There is no skill "${name.slice(0, 64)}". ${known}`);
}
