export { GrantModule } from './grant.module.js';
export { granted, grantedTo, isPublished } from './grant.repository.js';
export { comparedSubjects, LevelNeededError } from './grant.rules.js';
export type { Grantee, GrantLevel, ResourceType } from './grant.rules.js';
export { Grants, isAmong, mayPublish } from './grants.js';
