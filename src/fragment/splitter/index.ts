export { markdownBlocks } from './markdown.js';
export { split } from './split.js';
export type {
  FragmentDraft,
  SourceBlock,
  SourceDocument,
  SourceKind,
  SplitSettings,
  TableBlock,
} from './block.js';
