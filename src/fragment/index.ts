export {
  DocumentRepository,
  HEADING_SEPARATOR,
  randomName,
  searchableText,
} from './fragment.repository.js';
export type {
  DocumentFragment,
  DocumentInfo,
  DocumentScope,
  FragmentRange,
  NewFragment,
} from './fragment.repository.js';
export { FragmentModule } from './fragment.module.js';
export { FragmentService } from './fragment.service.js';
export type { AnalysedText } from './keyword/text-analysis.js';
export type { KeywordHit } from './keyword/bm25.js';
export { KeywordIndex } from './keyword/keyword-index.js';
export type { AnalysedFragment } from './keyword/keyword-index.js';
export type { AttachmentScope, KnowledgeScope } from './keyword/keyword.repository.js';
