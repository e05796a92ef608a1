export {
  allOf,
  FILTER_DESCRIPTION,
  FILTER_EXAMPLE,
  FILTER_OPERATORS,
  keysOf,
  MAX_FILTER_CHARS,
  readFilter,
  readFilterText,
} from './filter.js';
export type { MetadataFilter } from './filter.js';
export { jsonPathOf } from './filter.js';
export { METADATA_TYPES, readMetadata, readMetadataText, shownMetadata } from './metadata.js';
export type { Metadata, StoredMetadata } from './metadata.js';
export { MetadataModule } from './metadata.module.js';
export { MetadataRepository } from './metadata.repository.js';
export type { DocumentReader, MetadataKey, ReachedBase } from './metadata.repository.js';
