import type { AnalysedText } from './keyword/text-analysis.js';
import type { FragmentDraft } from './splitter/index.js';

/** A fragment that is about to be stored under an id of `reserveIds`. */
export interface NewFragment extends FragmentDraft {
  readonly id: number;
  /** Running number in the document, from 0. */
  readonly idx: number;
  readonly analysed: AnalysedText;
}

/** The document whose fragments they are. */
export interface DocumentScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly docId: string;
}
