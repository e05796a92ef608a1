import { Fragment } from './fragment.entity.js';
import { KeywordBlock, KeywordDocument, KeywordPosting } from './keyword/keyword.entity.js';

export { FragmentModule } from './fragment.module.js';
export { FragmentService } from './fragment.service.js';
export type { AnalysedText } from './keyword/text-analysis.js';
export type { KeywordHit, KeywordResult } from './keyword/bm25.js';
export { KeywordIndex } from './keyword/keyword-index.js';
export type { AnalysedFragment } from './keyword/keyword-writer.js';
export type { AttachmentScope, KnowledgeScope } from './keyword/keyword.repository.js';
export type { DocumentScope, NewFragment } from './new-fragment.js';
export { randomName } from './random-name.js';
export { searchableText } from './searchable-text.js';

export const fragmentEntities = [Fragment, KeywordBlock, KeywordDocument, KeywordPosting];
