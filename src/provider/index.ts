export {
  InvalidAddressError,
  retryBeforeFirstPart,
  UnsupportedProviderError,
  UpstreamError,
} from './adapter/index.js';
export type {
  CallLimits,
  ChatAdapter,
  ChatCall,
  ChatCallOptions,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ContentPart,
  Finish,
  FinishReason,
  ModelConnection,
  RetryOptions,
  ToolCall,
  ToolDefinition,
  UpstreamErrorKind,
  Usage,
} from './adapter/index.js';
export { errorOfAnswer, upstreamErrorOf } from './adapter/upstream-failure.js';
export { ChatAdapterRegistry } from './chat-adapter.registry.js';
export { providerEntities } from './provider.entity.js';
export { ProviderModule } from './provider.module.js';
export { ProviderService } from './provider.service.js';
export type { EnabledProvider } from './provider.service.js';
