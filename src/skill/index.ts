export { SkillCatalogue } from './skill.catalogue.js';
export type { SkillInfo, SkillProblem, SkillRoot, SkillScan, SkillText } from './skill.info.js';
export { SkillModule } from './skill.module.js';
export { readSkill, readSkillResource } from './skill.reader.js';
