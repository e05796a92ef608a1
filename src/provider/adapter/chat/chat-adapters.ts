import type { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ChatAdapter } from './chat.adapter.js';
import { chatCompletions } from './chat-completions/chat-completions.protocol.js';
import { messages } from './messages/messages.protocol.js';
import { ollama } from './ollama/ollama.protocol.js';
import { PathChoiceAdapter } from './path-choice.adapter.js';
import {
  chatCompletionsPresets,
  customChatCompletions,
  customMessages,
  minimax,
} from './presets.js';
import { ProtocolAdapter } from './protocol.adapter.js';
import type { ChatProtocol } from './protocol.adapter.js';

/** Every chat adapter there is. A new vendor is a line of presets.ts, or a folder and a line here. */
export function chatAdapters(http: OutboundHttp): readonly ChatAdapter[] {
  const by = (protocol: ChatProtocol): ChatAdapter => new ProtocolAdapter(http, protocol);
  return [
    ...chatCompletionsPresets.map((preset) => by(chatCompletions(preset))),
    minimaxAdapter(by),
    by(ollama),
    by(chatCompletions(customChatCompletions)),
    by(messages(customMessages)),
  ];
}

function minimaxAdapter(by: (protocol: ChatProtocol) => ChatAdapter): ChatAdapter {
  const { code, label, messagesPath, messages: address, completions } = minimax;
  return new PathChoiceAdapter({
    code,
    label,
    path: messagesPath,
    matching: by(messages({ code, label, address })),
    otherwise: by(chatCompletions({ code, label, ...completions })),
  });
}
