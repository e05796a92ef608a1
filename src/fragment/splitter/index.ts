export { split } from './split.js';
export type {
  FragmentDraft,
  SourceBlock,
  SourceDocument,
  SourceKind,
  SplitSettings,
  TableBlock,
} from './source-document.js';
