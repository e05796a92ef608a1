export {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  MediaAdapterRegistry,
  RerankAdapterRegistry,
  UnsupportedProviderError,
} from './adapter.registries.js';
export {
  AUTH_TYPES,
  checkedCredential,
  defaultAuthType,
  HostIdentityError,
  isCloudAuth,
} from './adapter/authentication.js';
export type { AuthType } from './adapter/authentication.js';
export { InvalidAddressError } from './adapter/address.js';
export { generationIn, NO_EFFORT } from './adapter/chat/chat.adapter.js';
export type {
  CacheMark,
  ChatAdapter,
  ChatCall,
  Generation,
  RequestedGeneration,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ChatProtocolName,
  ContentPart,
  Finish,
  FinishReason,
  ProviderState,
  RelayedAnswer,
  RelayedBody,
  RelayedRead,
  RelayOptions,
  ResponseFormat,
  TokenCount,
  ToolCall,
  ToolDefinition,
} from './adapter/chat/chat.adapter.js';
export { DEFAULT_MAX_TOKENS } from './adapter/chat/messages.protocol.js';
export { partsOf } from './adapter/chat/protocol.adapter.js';
export { readToolCall } from './adapter/chat/answer-text.js';
export { formatInstruction } from './adapter/chat/response-format.js';
export type {
  EmbeddingAdapter,
  EmbeddingAnswer,
  EmbeddingCall,
} from './adapter/embedding/embedding.adapter.js';
export { imageFileType } from './adapter/media/media-type.js';
export { isTextFormat, TRANSCRIPT_FORMATS } from './adapter/media/media.adapter.js';
export type {
  ImageCall,
  ImageEditCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  MediaType,
  Moderation,
  ModerationCall,
  PredictionLookup,
  SpeechCall,
  Transcript,
  TranscriptEvent,
  TranscriptFormat,
  TranscriptionCall,
  TranscriptionOptions,
  VideoCall,
} from './adapter/media/media.adapter.js';
export type {
  BilledUsage,
  CallLimits,
  FormValue,
  ModelCallOptions,
  ModelConnection,
  ModelFile,
  Usage,
} from './adapter/model-call.js';
export { MAX_OFFERED_MODELS } from './adapter/model-list.js';
export type { OfferedModel } from './adapter/model-list.js';
export { RERANK_DIALECT } from './adapter/rerank/query-documents.protocol.js';
export { FILLED_IN } from './adapter/missing-state.js';
export { NOT_OPENED, OPENED_FINDING } from './adapter/chat/answer-text.js';
export type { Findings, FindingValue, ServiceFindings } from './adapter/refused-parameters.js';
export { secretForms } from './adapter/safe-text.js';
export type { AdapterNames } from './adapter/named-adapter.js';
export type { RankedDocument, RerankAdapter, RerankCall } from './adapter/rerank/rerank.adapter.js';
export { pauseBeforeRetry, retryBeforeFirstPart, retryCall } from './adapter/model-call.js';
export type { StreamWatch } from './adapter/model-call.js';
export type { RetryOptions } from './adapter/model-call.js';
export { abortedError, UpstreamError } from './adapter/upstream.error.js';
export type { UpstreamErrorKind } from './adapter/upstream.error.js';
export { ProviderUnavailableError } from './provider.repository.js';
export { ProviderModule } from './provider.module.js';
export { ProviderService } from './provider.service.js';
export type { ProviderRecord } from './provider.service.js';
