export type { KnowledgeBase } from './knowledge.entity.js';
export { KnowledgeContents } from './knowledge-contents.js';
export type { KnowledgeParticipant } from './knowledge-contents.js';
export {
  isOfSession,
  NoEmbeddingModelError,
  requireSplitSettings,
  splitSettings,
} from './knowledge.rules.js';
export { KnowledgeModule } from './knowledge.module.js';
export { KnowledgeService } from './knowledge.service.js';
export {
  AUTOMATIC,
  FRAGMENT_SETTINGS,
  KNOWLEDGE_LANGUAGES,
  MAX_RETRIEVED,
} from './knowledge.settings.js';
