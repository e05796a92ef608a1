import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { parseAddress } from '../address.js';
import type { AdapterNames } from '../named-adapter.js';
import type { ChatAdapter } from './chat.adapter.js';
import { chatCompletions } from './chat-completions/chat-completions.protocol.js';
import { messages } from './messages/messages.protocol.js';
import { ollama } from './ollama/ollama.protocol.js';
import {
  chatCompletionsPresets,
  customChatCompletions,
  customMessages,
  minimax,
} from './presets.js';
import { ProtocolAdapter } from './protocol.adapter.js';
import type { ChatProtocol } from './protocol.adapter.js';

/** All chat adapters. A new vendor is a line of presets.ts, or a folder and a line here. */
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
