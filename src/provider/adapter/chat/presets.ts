import type { ChatCompletionsOptions } from './chat-completions/chat-completions.adapter.js';

/** What most vendors of the protocol understand. */
const USUAL = { maxOutputField: 'max_tokens', streamUsage: true } as const;
/** The newer name, which the services below require or recommend. */
const NEWER = { maxOutputField: 'max_completion_tokens', streamUsage: true } as const;

/**
 * Vendors that are the chat-completions protocol plus defaults. `prefix` is the path that the vendor's
 * documentation gives for a bare domain.
 */
export const chatCompletionsPresets: readonly ChatCompletionsOptions[] = [
  { code: 'openai', label: 'OpenAI', address: { prefix: '/v1' }, dialect: NEWER },
  { code: 'deepseek', label: 'DeepSeek', address: { prefix: '/v1' }, dialect: USUAL },
  { code: 'zhipu', label: 'Zhipu', address: { prefix: '/api/paas/v4' }, dialect: USUAL },
  { code: 'xiaomi', label: 'Xiaomi MiMo', address: { prefix: '/v1' }, dialect: NEWER },
  {
    code: 'qianwen',
    label: 'Tongyi Qianwen',
    address: { prefix: '/compatible-mode/v1' },
    dialect: USUAL,
  },
  {
    code: 'ppio',
    label: 'PPIO',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
    dialect: USUAL,
  },
  { code: 'siliconflow', label: 'SiliconFlow', address: { prefix: '/v1' }, dialect: USUAL },
  { code: 'atlas', label: 'Atlas Cloud', address: { prefix: '/v1' }, dialect: USUAL },
];

/** Any service of the protocol; the specification's code. */
export const customChatCompletions: ChatCompletionsOptions = {
  code: 'custom_api',
  label: 'Custom (chat completions)',
  address: { prefix: '/v1', foreignEndpoints: ['/messages'] },
  dialect: USUAL,
};

/** Any service of the messages protocol; the specification's code. */
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
