export { PlinthChatModel } from './chat-model.js';
export type { ChatGeneration, PlinthChatCallOptions, PlinthChatOptions } from './chat-model.js';
export { PlinthEmbeddings } from './embeddings.js';
export {
  ModelAbilityError,
  UnsupportedMessageError,
  UnsupportedOptionError,
} from './langchain.errors.js';
export { toChatMessages, toLangChainMessages } from './langchain.messages.js';
export { LangChainModule } from './langchain.module.js';
export { LangChain } from './langchain.service.js';
export { langchainTool } from './langchain.tools.js';
export type { LangChainToolCall, LangChainToolSpec } from './langchain.tools.js';
export { KnowledgeRetriever } from './retriever.js';
export type { FragmentMetadata, RetrieverOptions } from './retriever.js';
