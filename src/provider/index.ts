export {
  abortedError,
  InvalidAddressError,
  retryBeforeFirstPart,
  retryCall,
  UnsupportedProviderError,
  UpstreamError,
} from './adapter/index.js';
export type {
  AdapterNames,
  CallLimits,
  ChatAdapter,
  ChatCall,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ContentPart,
  EmbeddingAdapter,
  EmbeddingAnswer,
  EmbeddingCall,
  Finish,
  FinishReason,
  ImageCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  MediaType,
  ModelCallOptions,
  ModelConnection,
  PredictionLookup,
  RankedDocument,
  RerankAdapter,
  RerankCall,
  RetryOptions,
  SpeechCall,
  ToolCall,
  ToolDefinition,
  UpstreamErrorKind,
  Usage,
  VideoCall,
} from './adapter/index.js';
export {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
} from './adapter.registries.js';
export { ProviderUnavailableError } from './provider.errors.js';
export { ProviderModule } from './provider.module.js';
export { ProviderService } from './provider.service.js';
export type { EnabledProvider } from './provider.service.js';
