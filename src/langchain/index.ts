export type { PlinthChatCallOptions, PlinthChatModel, PlinthChatOptions } from './chat-model.js';
export type { PlinthEmbeddings } from './embeddings.js';
export { toChatMessages, toLangChainMessages, withInvalidCalls } from './langchain.messages.js';
export { LangChainModule } from './langchain.module.js';
export { LangChain } from './langchain.service.js';
export { langchainTool } from './langchain.tools.js';
export type { LangChainToolCall, LangChainToolSpec } from './langchain.tools.js';
export type { KnowledgeRetriever, RetrieverOptions } from './retriever.js';
