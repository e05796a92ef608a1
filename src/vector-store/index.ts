export { AbsentStoreError, VectorStore, VectorStoreError, VectorStores } from './vector-store.js';
export { VectorStoreModule } from './vector-store.module.js';
export type {
  StoreOfBase,
  VectorEntry,
  VectorHit,
  VectorQuery,
  VectorScope,
} from './vector-store.js';
