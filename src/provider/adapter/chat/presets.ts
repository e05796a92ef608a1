import { vendors } from '../vendors.js';
import type { ChatCompletionsPreset } from './chat-completions/chat-completions.protocol.js';

/** What most vendors of the protocol understand. */
const USUAL = { maxOutputField: 'max_tokens', streamUsage: true } as const;
/** The newer name, which the services below require or recommend. */
const NEWER = { maxOutputField: 'max_completion_tokens', streamUsage: true } as const;

/** Vendors that are the chat-completions protocol plus defaults. */
export const chatCompletionsPresets: readonly ChatCompletionsPreset[] = [
  { ...vendors.openai, dialect: NEWER },
  { code: 'deepseek', label: 'DeepSeek', address: { prefix: '/v1' }, dialect: USUAL },
  { ...vendors.zhipu, dialect: USUAL },
  { code: 'xiaomi', label: 'Xiaomi MiMo', address: { prefix: '/v1' }, dialect: NEWER },
  { ...vendors.qianwen, dialect: USUAL },
  { ...vendors.ppio, dialect: USUAL },
  { ...vendors.siliconflow, dialect: USUAL },
  { code: 'atlas', label: 'Atlas Cloud', address: { prefix: '/v1' }, dialect: USUAL },
];

/** Any service of the protocol. */
export const customChatCompletions: ChatCompletionsPreset = {
  ...vendors.custom,
  label: 'Custom (chat completions)',
  dialect: USUAL,
};

/** Any service of the messages protocol. */
export const customMessages = {
  code: 'custom_messages',
  label: 'Custom (messages)',
  address: { prefix: '/v1', foreignEndpoints: ['/chat/completions'] },
} as const;

/** MiniMax serves the messages protocol below `/anthropic` and chat-completions elsewhere. */
export const minimax = {
  code: 'minimax',
  label: 'MiniMax',
  messagesPath: /\/anthropic(\/v1)?(\/messages)?\/*$/,
  messages: { prefix: '/anthropic/v1', endings: { '/anthropic': '/anthropic/v1' } },
  completions: { address: { prefix: '/v1' }, dialect: USUAL },
} as const;
