export { VectorStoreError } from './vector-store.errors.js';
export { VectorStoreModule } from './vector-store.module.js';
export { VectorStore } from './vector-store.js';
export type { VectorEntry, VectorHit, VectorQuery, VectorScope } from './vector-store.js';
export { VectorStores } from './vector-stores.js';
