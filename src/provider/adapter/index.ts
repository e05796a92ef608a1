export { AdapterRegistry } from './adapter.registry.js';
export { InvalidAddressError, UnsupportedProviderError } from './adapter.errors.js';
export { retryBeforeFirstPart } from './retry.js';
export type { RetryOptions } from './retry.js';
export { UpstreamError } from './upstream.error.js';
export type { UpstreamErrorKind } from './upstream.error.js';
export { chatAdapters } from './chat/chat-adapters.js';
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
  ToolCall,
  ToolDefinition,
  Usage,
} from './chat/chat.adapter.js';
