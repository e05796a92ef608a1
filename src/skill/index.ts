export { SkillCatalogue, SkillModule } from './skill.catalogue.js';
export type { SkillInfo, SkillProblem, SkillRoot, SkillScan, SkillText } from './skill-text.js';
export { readSkill, readSkillResource } from './skill.reader.js';
export {
  activateSkillInput,
  resourcePart,
  skillResourceInput,
  unknownSkill,
} from './skill.calls.js';
export type { ActivateSkillInput, SkillResourceInput } from './skill.calls.js';
