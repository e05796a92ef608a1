export { AdapterRegistry } from './adapter.registry.js';
export type { AdapterNames } from './named-adapter.js';
export { InvalidAddressError, UnsupportedProviderError } from './adapter.errors.js';
export type { CallLimits, ModelCallOptions, ModelConnection, Usage } from './model-call.js';
export { retryBeforeFirstPart, retryCall } from './retry.js';
export type { RetryOptions } from './retry.js';
export { abortedError, UpstreamError } from './upstream.error.js';
export type { UpstreamErrorKind } from './upstream.error.js';
export { chatAdapters } from './chat/chat-adapters.js';
export type {
  ChatAdapter,
  ChatCall,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ContentPart,
  Finish,
  FinishReason,
  ToolCall,
  ToolDefinition,
} from './chat/chat.adapter.js';
export type {
  EmbeddingAdapter,
  EmbeddingAnswer,
  EmbeddingCall,
} from './embedding/embedding.adapter.js';
export { embeddingAdapters } from './embedding/embedding-adapters.js';
export { mediaAdapters } from './media/media-adapters.js';
export type {
  ImageCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  MediaType,
  PredictionLookup,
  SpeechCall,
  VideoCall,
} from './media/media.adapter.js';
export { rerankAdapters } from './rerank/rerank-adapters.js';
export type { RankedDocument, RerankAdapter, RerankCall } from './rerank/rerank.adapter.js';
