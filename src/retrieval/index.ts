export { RetrievalModule } from './retrieval.module.js';
