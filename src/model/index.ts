export type { MadeAttempt, ModelUse } from './calls/attempt.js';
export { CallTrail } from './calls/attempt.js';
export type { CallOptions, RelaySettings } from './calls/upstream.calls.js';
export { CHAT_LIMITS, UpstreamCalls } from './calls/upstream.calls.js';
export { inBatches } from './model.findings.js';
export { CompletionClient } from './completion/completion.client.js';
export type { CompletionOptions, CountedCompletion } from './completion/completion.client.js';
export {
  EmbeddingClient,
  EmbeddingDimensionError,
  EmbeddingModelChangedError,
} from './embedding/embedding.client.js';
export type { Embedded, EmbedOptions, WaitListener } from './embedding/embedding.client.js';
export { ModelNotFoundError, ModelNotGrantedError, WrongCategoryError } from './model.errors.js';
export {
  estimateMessagesTokens,
  estimateMessageTokens,
  estimateTokens,
  LearnedWindow,
  REMOVED_RESULT,
  sendableTokens,
  withoutOldResults,
} from './model-window.js';
export { fits, longestBeginning, sizeOf } from './tokens/fitting.js';
export type { TextSize } from './tokens/fitting.js';
export { estimatingCounter, tokenCounter } from './tokens/token-counter.js';
export type { TokenCounter } from './tokens/token-counter.js';
export { textsOfTokens } from './tokens/token-decoder.js';
export { ModelModule } from './model.module.js';
export { ModelResolver } from './model.resolver.js';
export { categoryOf, SERVED_CATEGORIES } from './model.entity.js';
export type { MediaCategory } from './model.entity.js';
export type {
  ResolvedChatModel,
  ResolvedEmbeddingModel,
  ResolvedMediaModel,
  ResolvedModel,
  ResolvedRerankModel,
} from './model.resolver.js';
export { ModelService } from './model.service.js';
export type { CallableModel } from './model.service.js';
export { RerankClient } from './reranking/rerank.client.js';
export type { RerankOptions } from './reranking/rerank.client.js';
