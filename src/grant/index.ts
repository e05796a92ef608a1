export { GrantModule } from './grant.module.js';
export {
  granted,
  grantedTo,
  isPublished,
  readableDocument,
  readableDocuments,
} from './grant.repository.js';
export { comparedSubjects, LEVEL_NAMES, LevelNeededError, readReaders } from './grant.rules.js';
export type { Grantee, GrantLevel, ResourceType } from './grant.rules.js';
export { Grants, isAmong, mayPublish } from './grants.js';
