export { inBatches } from './batches.js';
export { countedCall } from './counted.call.js';
export { EmbeddingDimensionError } from './embedding/embedding.errors.js';
export { ModelEmbedder } from './embedding/model.embedder.js';
export type { EmbedOptions } from './embedding/model.embedder.js';
export { ModelNotFoundError, WrongCategoryError } from './model.errors.js';
export { estimateMessageTokens, estimateTokens, sendableTokens } from './model-window.js';
export { ModelModule } from './model.module.js';
export { ModelResolver } from './model.resolver.js';
export type {
  ResolvedChatModel,
  ResolvedEmbeddingModel,
  ResolvedMediaModel,
  ResolvedModel,
  ResolvedRerankModel,
} from './model.resolver.js';
export { ModelService } from './model.service.js';
export { Reranker } from './reranking/reranker.js';
export type { RerankOptions } from './reranking/reranker.js';
