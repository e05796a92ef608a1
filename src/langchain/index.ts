export type { PlinthChatCallOptions, PlinthChatModel, PlinthChatOptions } from './chat-model.js';
export { toChatMessages, toLangChainMessages, withInvalidCalls } from './langchain.messages.js';
export { LangChain } from './langchain.js';
export { langchainTool } from './langchain.tools.js';
export type { LangChainToolCall, LangChainToolSpec } from './langchain.tools.js';
