export { SkillCatalogue, SkillModule } from './skill.catalogue.js';
export type { SkillInfo, SkillProblem, SkillRoot, SkillScan, SkillText } from './skill-text.js';
export { readSkill, readSkillResource } from './skill.reader.js';
