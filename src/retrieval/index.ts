export { fragmentReference, interleave } from './retrieval.js';
export type {
  CitableFragment,
  FragmentReference,
  RetrievalOverrides,
  RetrievalResult,
  RetrievedFragment,
} from './retrieval.js';
export { Neighbourhood, NeighbourService } from './neighbours.js';
export { RetrievalModule } from './retrieval.module.js';
export { RetrievalService } from './retrieval.service.js';
export type { RetrievalRequest } from './retrieval.service.js';
export { TestSetService } from './test-set/test-set.service.js';
export { TestQueryView } from './test-set/test-set.view.js';
