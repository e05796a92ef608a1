export { AbsentStoreError } from './vector-stores.js';
export { VectorStoreError, VectorStore } from './vector-store.js';
export { VectorStoreModule } from './vector-store.module.js';
export type { VectorEntry, VectorHit, VectorQuery, VectorScope } from './vector-store.js';
export { VectorStores } from './vector-stores.js';
export type { StoreOfBase } from './vector-stores.js';
