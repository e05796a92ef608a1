export { GrantModule } from './grant.module.js';
export {
  granted,
  grantedInList,
  grantedTo,
  isPublished,
  readableDocument,
  readableDocuments,
} from './grant.repository.js';
export {
  comparedSubjects,
  LEVEL_NAMES,
  LevelNeededError,
  mayPublish,
  readReaders,
  requireMayPublish,
} from './grant.rules.js';
export type { Grantee, GrantLevel, ResourceType } from './grant.rules.js';
export { Grants, isAmong } from './grants.js';
