import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { parseAddress } from '../address.js';
import type { AdapterNames } from '../named-adapter.js';
import { vendors } from '../vendors.js';
import { chatCompletions } from './chat-completions/chat-completions.protocol.js';
import type { ChatCompletionsPreset } from './chat-completions/chat-completions.protocol.js';
import type { ChatAdapter } from './chat.adapter.js';
import { messages } from './messages/messages.protocol.js';
import { ollama } from './ollama/ollama.protocol.js';
import { ProtocolAdapter } from './protocol.adapter.js';
import type { ChatProtocol } from './protocol.adapter.js';

/** What most vendors of the protocol understand. */
const USUAL = { maxOutputField: 'max_tokens', streamUsage: true } as const;
/** The newer name, which the services below require or recommend. */
const NEWER = { maxOutputField: 'max_completion_tokens', streamUsage: true } as const;

/** Vendors that are the chat-completions protocol plus defaults. */
const chatCompletionsPresets: readonly ChatCompletionsPreset[] = [
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
const customChatCompletions: ChatCompletionsPreset = {
  ...vendors.custom,
  label: 'Custom (chat completions)',
  dialect: USUAL,
};

/** Any service of the messages protocol. */
const customMessages = {
  code: 'custom_messages',
  label: 'Custom (messages)',
  address: { prefix: '/v1', foreignEndpoints: ['/chat/completions'] },
} as const;

/** MiniMax serves the messages protocol below `/anthropic` and chat-completions elsewhere. */
const minimax = {
  code: 'minimax',
  label: 'MiniMax',
  messagesPath: /\/anthropic(\/v1)?(\/messages)?\/*$/,
  messages: { prefix: '/anthropic/v1', endings: { '/anthropic': '/anthropic/v1' } },
  completions: { address: { prefix: '/v1' }, dialect: USUAL },
} as const;

/** All chat adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function chatAdapters(http: OutboundHttp): readonly ChatAdapter[] {
  const adapter = (names: AdapterNames, protocol: ChatProtocol): ChatAdapter =>
    new ProtocolAdapter(http, names, () => protocol);
  return [
    ...chatCompletionsPresets.map((preset) => adapter(preset, chatCompletions(preset))),
    new ProtocolAdapter(http, minimax, minimaxProtocols()),
    adapter({ code: 'ollama', label: 'Ollama' }, ollama),
    adapter(customChatCompletions, chatCompletions(customChatCompletions)),
    adapter(customMessages, messages(customMessages.address)),
  ];
}

function minimaxProtocols(): (address: string) => ChatProtocol {
  const below = messages(minimax.messages);
  const elsewhere = chatCompletions(minimax.completions);
  return (address) =>
    minimax.messagesPath.test(parseAddress(address).pathname) ? below : elsewhere;
}
