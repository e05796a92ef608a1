export { FragmentModule } from './fragment.module.js';
export { FragmentService } from './fragment.service.js';
export type { AnalysedText } from './keyword/text-analysis.js';
export type { KeywordHit, KeywordResult } from './keyword/bm25.js';
export { KeywordIndex } from './keyword/keyword-index.js';
export type { AnalysedFragment } from './keyword/keyword-index.js';
export type { AttachmentScope, KnowledgeScope } from './keyword/keyword.repository.js';
export type { DocumentScope, NewFragment } from './new-fragment.js';
export { randomName, searchableText } from './new-fragment.js';
