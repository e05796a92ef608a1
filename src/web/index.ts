export type { SearchResult } from './search.adapters.js';
export { WebModule } from './web.module.js';
export { WebPages } from './web-pages.js';
export { WebSearch } from './web-search.js';
